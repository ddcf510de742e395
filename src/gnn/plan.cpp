#include "gnn/plan.hpp"

#include <algorithm>
#include <cmath>

namespace garner {

std::uint64_t training_plan::bytes() const {
  std::uint64_t sum = 0;
  for (load_array const& a : load.near) sum += a.bytes;
  for (load_array const& a : near) sum += a.bytes;
  return sum;
}

training_plan plan_training(training_question const& q) {
  training_plan p;
  model_options const& m = q.model;
  bool const full = q.load.fanouts.empty();
  auto const n = q.shard ? q.shard->vertices : static_cast<double>(q.load.info.vertices),
             arcs = q.shard ? q.shard->edges : static_cast<double>(q.load.info.edges);
  std::uint32_t const layers = m.layers;
  double seeds = n;
  double const mine = std::ceil(q.training / q.ranks);
  if (full) {
    p.rows.assign(layers + 1, n), p.edges.assign(layers, arcs), p.steps = 1;
  } else {
    load_question of = q.load;
    of.loader.batch = std::min(of.loader.batch, static_cast<std::uint64_t>(std::max(mine, 1.0)));
    auto const batch = static_cast<double>(of.loader.batch);
    seeds = std::min(batch, mine);
    p.steps = of.batches = static_cast<std::uint64_t>(std::ceil(mine / batch));
    p.load = plan_load(of);
    double drawn = 0;
    p.rows.assign(layers + 1, seeds), p.edges.assign(layers, 0);
    for (std::uint32_t h = 0; h < layers; ++h) {
      drawn += p.load.edges_by_hop[h];
      p.rows[layers - 1 - h] = p.load.vertices_by_hop[h];
      p.edges[layers - 1 - h] = drawn;  // a layer has the edges of all hops up to its own
    }
  }

  auto const hidden = static_cast<double>(m.hidden), classes = static_cast<double>(m.classes), inputs = static_cast<double>(m.inputs);
  auto const width = [&](std::uint32_t l) { return l == 0 && !m.residual ? inputs : hidden; };
  auto const outputs = [&](std::uint32_t l) { return l + 1 == layers && !m.residual ? classes : hidden; };
  bool const gin = m.kind == model_kind::gin, sage = m.kind == model_kind::sage, gcn = m.kind == model_kind::gcn;
  auto const product_first = [&](std::uint32_t l) { return !gin && width(l) > outputs(l) && p.rows[l] <= 2 * p.rows[l + 1]; };

  // Numbers that stay from forward to backward, and gradients, each array by its widest use.
  double parameters = 0, forward = q.dropout && q.input_dropout > 0 ? p.rows[0] * inputs : 0, flops = 0, moved = 0;
  double crossed = 0, widest = 0, kept = 0;  // columns that are aggregated: of all times, of one, of the table
  double taken_back = 0, middle_back = 0, copies = 0, terms = 0, sides[2] = {0, 0};
  auto const dense = [&](double rows, double in, double out, bool back) {
    parameters += in * out + out;
    flops += 2 * rows * in * out * (back ? 3 : 2);
  };
  if (m.residual) dense(p.rows[0], inputs, hidden, false), forward += p.rows[0] * hidden;
  for (std::uint32_t l = 0; l < layers; ++l) {
    double const in = width(l), out = outputs(l), sources = p.rows[l], targets = p.rows[l + 1];
    bool const last = l + 1 == layers, first = product_first(l), back = l > 0 || m.residual;
    bool const norm = m.layer_norm && (m.residual || !last);
    if (norm) parameters += 2 * hidden, terms = std::max(terms, (m.residual ? sources : targets) * hidden);
    forward += targets * out;  // what comes out
    if (norm) forward += m.residual ? sources * hidden : targets * out;
    if (m.residual) forward += targets * out, copies = std::max(copies, targets * out);
    double const wide = sage ? 2 * in : in;
    if (first) {
      forward += sources * out, taken_back = std::max(taken_back, sources * out);
      parameters += in * out;  // the other matrix is counted below
      flops += 2 * sources * in * out * (back ? 3 : 2);
      if (sage) dense(targets, in, out, back);
      else parameters += out;
    } else {
      forward += targets * wide;
      if (back) taken_back = std::max(taken_back, targets * wide);
      dense(targets, wide, out, back);
      if (gin && m.layer_norm) parameters += 2 * out, forward += targets * out, terms = std::max(terms, targets * out);
      if (gin) dense(targets, out, out, true), forward += targets * out, middle_back = std::max(middle_back, targets * out);
    }
    double const columns = first ? out : in;  // that are aggregated, forward and (first, or where rows learn) backward
    moved += (p.edges[l] + targets) * columns * 4;
    if (first || back) moved += (p.edges[l] + sources) * columns * 4;
    // Rows of the table come to a shard once, where they are what is aggregated.
    bool const constant = q.shard && q.shard->how.way == shard_way::bulk && l == 0 && !first && !m.residual;
    crossed += columns * ((first || back ? 1 : 0) + (constant && q.input_dropout <= 0 ? 0 : 1));
    if (constant) kept = columns;
    if (!constant || q.input_dropout > 0 || back) widest = std::max(widest, columns);
    if (back) sides[l % 2] = std::max(sides[l % 2], sources * in);
  }
  if (m.residual) {
    dense(p.rows[layers], hidden, classes, true);
    if (m.layer_norm) parameters += 2 * hidden, forward += p.rows[layers] * hidden, terms = std::max(terms, p.rows[layers] * hidden);
    forward += p.rows[layers] * classes, sides[layers % 2] = std::max(sides[layers % 2], p.rows[layers] * hidden);
  }
  p.parameters = static_cast<std::uint64_t>(parameters);
  auto const take = [&](char const* what, double bytes) {
    if (bytes >= 1) p.near.push_back({what, static_cast<std::uint64_t>(std::llround(bytes))});
  };
  constexpr double room = 1.25, number = 4;
  take("parameters, their gradients, moments of Adam", parameters * 4 * number);
  take("activations of a step", room * number * forward);
  take("gradients of a step", room * number * (taken_back + middle_back + copies + terms + sides[0] + sides[1] + seeds * classes));
  double const labels = m.labels == label_kind::one_class ? 8 : 4 * classes;
  take("labels and losses", (full ? n : q.training + room * seeds) * labels + room * seeds * 20);
  bool const host = q.load.where.kind == place_kind::host, device = q.load.where.kind == place_kind::device;
  double const weights = q.load.weighted ? 4 : 0, factors = number * (gcn ? p.rows[0] + 2 * p.rows[1] : sage ? p.rows[1] : 0);
  if (q.shard) {
    training_question::part const& s = *q.shard;
    bool const bulk = s.how.way == shard_way::bulk, mgg = s.how.way == shard_way::mgg;
    double const all = static_cast<double>(q.load.info.vertices), shards = s.how.shards, sides = q.load.info.directed ? 2 : 1;
    double const items = std::min(arcs + n, mgg ? arcs / s.how.mgg.ps + n * shards : n * (bulk ? shards : 1));
    double const brought = bulk ? s.remote_rows : mgg ? n : all, sources = bulk ? n + s.remote_rows : all;
    take("lists of a shard", sides * (items * (mgg ? 24 : 16) + arcs * (4 + weights) + (bulk ? 4 * s.remote_rows : 0)));
    take("rows of a shard", n * inputs * number);
    take(mgg ? "sums of a shard" : "rows of other shards", room * number * (widest * (brought + arcs / 512) + kept * s.remote_rows));
    bool const rounded = s.how.wire != element::f32 && s.how.shards > 1;
    if (rounded) take("rows of a shard, rounded", room * 2 * widest * n);
    take("factors of edges", sides * room * number * sources * (gcn ? 3 : sage ? 1 : 0));
    take("gradients of blocks", parameters * number * s.blocks);
    double const reads = mgg ? std::min(arcs, arcs * (1 - n / std::max(all, 1.0))) : bulk ? s.remote_rows : all - n;
    bool const here = q.gradients == training_question::exchange::near;  // all shards at one place
    double const bytes = reads * crossed * (rounded ? 2 : number);
    p.reads.push_back({"rows of shards", here ? bytes : 0, here ? 0 : bytes, 0});
  } else if (full) {
    bool const two = q.load.info.directed;
    double const sides_near = device ? (two ? 2 : 1) : 0;
    take("lists of the whole graph", sides_near * room * ((n + 1) * 8 + arcs * 4) + (two ? 2 : 1) * room * arcs * weights);
    take("rows of the whole graph", n * inputs * number);
    take("factors of edges", room * factors + (gcn ? 2 * n * number : 0));
  } else {
    double const all = p.edges[0], back = product_first(0) || m.residual ? all : layers > 1 ? p.edges[1] : 0;
    take("edges of a step, and turned round",
         room * ((p.rows[1] + 1) * 8 + all * (4 + weights) + back * (24 + 4 + weights) + (p.rows[0] + 1) * 8 + factors));
    if (gcn) take("degrees", n * number * (q.load.weighted ? 2 : 1));
  }
  auto const steps = static_cast<double>(p.steps);
  p.flops = flops * steps, p.near_bytes = moved * steps;
  if (!full) {
    std::uint64_t const far_lists = std::min(p.load.list_bytes, p.load.sample.bytes_link());
    read_by_tier lists{"lists", 0, 0, static_cast<double>(far_lists)};
    (q.lists_on_peer ? lists.peer : lists.near) = static_cast<double>(p.load.list_bytes - far_lists);
    p.reads.push_back(lists);
    p.reads.push_back({"rows", (p.load.near_rows + p.load.window_rows) * static_cast<double>(q.load.row_bytes), 0,
                       static_cast<double>(p.load.rows.bytes_link()), p.load.file_reads * static_cast<double>(q.load.row_bytes)});
  }
  p.reads.push_back({"aggregation", moved, 0, 0});
  if (q.ranks > 1) {
    // A share of all others' gradients, then the means of all others; through host memory all is written there and read again.
    double const others = 2 * parameters * 4 * (q.ranks - 1) / q.ranks;
    read_by_tier g{"gradients of ranks", 2 * parameters * 4 / q.ranks, 0, 0};
    if (q.gradients == training_question::exchange::near) g.near += others;
    else if (q.gradients == training_question::exchange::peers) g.peer = others;
    else g.near = 0, g.far = 2 * parameters * 4;
    p.reads.push_back(g);
  }
  if (q.shard) {
    double const blocks = static_cast<double>(q.shard->blocks) * parameters * 4;
    double const others = blocks * (q.shard->how.shards - 1);
    bool const here = q.gradients == training_question::exchange::near;
    p.reads.push_back({"gradients of shards", here ? blocks + others : blocks, here ? 0 : others, 0});
  }
  for (read_by_tier const& r : p.reads) p.link_bytes += r.far * steps;
  if (!full) {  // else a step's own arrays do
    inference_sizes s;
    s.model = m, s.vertices = q.load.info.vertices, s.edges = q.load.info.edges, s.weighted = q.load.weighted;
    s.longest = q.load.degrees.empty() ? s.edges : static_cast<std::uint64_t>(q.load.degrees.front().degree);
    s.far_row_bytes = host ? 0 : static_cast<double>(q.load.row_bytes) * (1 - static_cast<double>(q.load.rows_kept) / std::max(n, 1.0));
    p.evaluation = plan_layers(s, q.evaluation_near);
  }
  return p;
}

}  // namespace garner
