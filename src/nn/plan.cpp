#include "nn/plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "nn/evaluate.hpp"
#include "nn/infer/whole.hpp"
#include "nn/kept_rows.hpp"
#include "nn/model.hpp"
#include "shard/lists.hpp"
#include "shard/packed_chunk.hpp"

namespace garner {

std::uint64_t training_plan::bytes() const {
  std::uint64_t sum = 0;
  for (load_array const& a : load.near) sum += a.bytes;
  for (load_array const& a : near) sum += a.bytes;
  return sum;
}

namespace {
double items_of(training_question::part const& of) {  // of its chunks, or partitions, at the most
  bool const bulk = of.how.strategy == shard_strategy::bulk, mgg = of.how.strategy == shard_strategy::mgg;
  return std::min(of.edges + of.vertices,
                  mgg ? of.edges / of.how.tuning.ps + of.vertices * of.how.shards : of.vertices * (bulk ? of.how.shards : 1));
}
}  // namespace

double shard_list_bytes(training_question const& q) {
  training_question::part const& of = *q.shard;
  double const items = items_of(of), weights = q.load.weighted ? 4 * of.edges : 0;
  if (of.how.strategy == shard_strategy::mgg) return items * 24 + 4 * of.edges + weights;
  if (!of.how.compressed_adjacency) return items * 16 + 4 * of.edges + weights;
  auto const whole = [](double n) { return static_cast<std::uint64_t>(std::ceil(n)); };
  return weights + static_cast<double>(packed_chunk::most_bytes(whole(items), whole(of.edges), of.how.shards,
                                                                whole(of.vertices + of.edges / slice_edges), q.load.info.vertices,
                                                                of.how.list_window));
}

training_plan plan_training(training_question const& q) {
  training_plan p;
  model_options const& m = q.model;
  bool const full = q.load.fanouts.empty();
  network_shape const s = shape_of(m, q.types);
  s.require_kind();
  auto const types = static_cast<std::uint32_t>(s.inputs.size());
  std::vector<load_relation> const relations =
      q.load.types.empty() ? std::vector<load_relation>{{q.load.info, 0, 0, q.load.lists_far}} : q.load.relations;
  types_sizes sizes;
  for (std::uint32_t t = 0; t < types; ++t)
    sizes.vertices.push_back(q.load.types.empty() ? q.load.info.vertices : q.load.types[t].vertices);
  for (load_relation const& r : relations) sizes.relations.push_back({r.info.vertices, r.info.edges, 0});
  sizes.weighted = q.load.weighted;
  std::vector<double> n(sizes.vertices.begin(), sizes.vertices.end());
  if (q.shard) n = {q.shard->vertices};
  std::uint32_t const layers = m.layers;
  double seeds = n[s.target];
  double const mine = std::ceil(q.training / q.ranks);
  // For each type, vertices before each layer, and last the output; for each relation, edges in each layer.
  std::vector<std::vector<double>> rows(layers + 1, n), edges(layers, std::vector<double>(relations.size()));
  if (full) {
    p.steps = 1;
    for (auto& of : edges)
      for (std::size_t r = 0; r < relations.size(); ++r) of[r] = q.shard ? q.shard->edges : static_cast<double>(relations[r].info.edges);
  } else {
    load_question of = q.load;
    of.loader.batch_size = std::min(of.loader.batch_size, static_cast<std::uint64_t>(std::max(mine, 1.0)));
    auto const batch = static_cast<double>(of.loader.batch_size);
    seeds = std::min(batch, mine);
    p.steps = of.batches = static_cast<std::uint64_t>(std::ceil(mine / batch));
    p.load = plan_load(of);
    for (std::uint32_t t = 0; t < types; ++t) rows[layers][t] = t == s.target ? seeds : 0;
    for (std::uint32_t h = 0; h < layers; ++h) {
      std::uint32_t const l = layers - 1 - h;
      for (std::uint32_t t = 0; t < types; ++t) rows[l][t] = p.load.types[t].by_hop[h];
      for (std::size_t r = 0; r < relations.size(); ++r)  // a layer has the edges of all hops up to its own
        edges[l][r] = p.load.edges_by_hop[r][h] + (h ? edges[l + 1][r] : 0);
    }
  }
  for (auto const& of : rows) p.rows.push_back(std::accumulate(of.begin(), of.end(), 0.0));
  for (auto const& of : edges) p.edges.push_back(std::accumulate(of.begin(), of.end(), 0.0));

  auto const hidden = static_cast<double>(m.hidden), classes = static_cast<double>(m.classes);
  auto const width = [&](std::uint32_t l, std::uint32_t t) { return static_cast<double>(s.width(l, t)); };
  bool const gin = m.kind == model_kind::gin, sage = m.kind == model_kind::sage, gcn = m.kind == model_kind::gcn;
  bool const one = types == 1 && relations.size() == 1;
  auto const product_first = [&](std::uint32_t l) { return one && s.width(l, 0) > s.outputs(l) && rows[l][0] <= 2 * rows[l + 1][0]; };

  // With activations in host memory all but two or three arrays are of a block of rows.
  bool const kept_far = q.shard && q.shard->how.host_activations;
  double const block = q.shard ? q.shard->largest_block : 0;
  auto const held = [&](double rows_of) { return kept_far ? std::min(rows_of, block) : rows_of; };
  // Columns: of the arrays of network_kept.cpp, the last of some columns; of gradients of a block; kept; of kept_rows, a kind each.
  bool const layers_far = kept_far && q.shard->how.host_layers;
  double layers_cross = 0;  // of host_layers: columns over the link, a step
  double const panel = static_cast<double>(network<float>::columns_at_once);
  auto const padded = [&](double columns) { return std::ceil(columns / panel) * panel; };
  double of_all[4] = {}, of_block = 0, kept_far_rows = 0, on_their_way[3] = {};
  double of_rooms[6] = {};  // numbers of a block, in the workspaces that layers share
  auto const in_room = [&](int k, double numbers) {
    if (kept_far) of_rooms[k] = std::max(of_rooms[k], numbers);
    return kept_far ? 0 : numbers;
  };
  // Numbers that stay from forward to backward, and gradients, each array by its widest use.
  double parameters = 0, forward = 0, flops = 0, moved = 0;
  double aggregations = 0, crossed = 0, widest = 0, kept = 0;  // columns that shards aggregate: over a step, in one call, of the table
  double taken_back = 0, middle_back = 0, copies = 0, terms = 0;
  std::vector<double> scaled(relations.size());  // rows times their factors, of a whole graph
  std::vector<double> sides[2] = {std::vector<double>(types), std::vector<double>(types)};
  auto const dense = [&](double count, double in, double out, bool back) {
    parameters += in * out + out;
    flops += 2 * count * in * out * (back ? 3 : 2);
  };
  for (std::uint32_t t = 0; t < types; ++t) {
    auto const inputs = static_cast<double>(s.inputs[t]);
    bool const by_tier = q.shard && q.shard->how.far_rows;
    if (q.dropout && q.input_dropout > 0) forward += (by_tier || kept_far ? block : rows[0][t]) * inputs;
    if (m.residual) dense(rows[0][t], inputs, hidden, false), forward += held(rows[0][t]) * hidden;
    if (kept_far && m.residual) of_all[0] = of_all[1] = hidden, on_their_way[kept_rows<float>::in] = hidden, kept_far_rows += 2 * hidden;
  }
  for (std::uint32_t l = 0; l < layers; ++l) {
    bool const last = l + 1 == layers, first = product_first(l), back = l > 0 || m.residual;
    bool const norm = m.layer_norm && (m.residual || !last);
    auto const out = static_cast<double>(s.outputs(l));
    for (std::uint32_t t = 0; t < types; ++t) {
      double const in = width(l, t), sources = rows[l][t], targets = rows[l + 1][t], wide = static_cast<double>(s.taken(l, t));
      if (norm) parameters += 2 * hidden, terms = std::max(terms, held(m.residual ? sources : targets) * hidden);
      if (norm && m.residual) forward += in_room(0, held(sources) * hidden), kept_far_rows += l > 0 ? hidden : 0;
      if (back && !kept_far) sides[l % 2][t] = std::max(sides[l % 2][t], sources * in);
      if (!s.uses(l, t)) continue;
      forward += in_room(1, held(targets) * out);  // what comes out
      if (norm && !m.residual) forward += in_room(2, held(targets) * out);
      if (m.residual) forward += in_room(2, held(targets) * out), copies = std::max(copies, held(targets) * out);
      if (kept_far) {
        bool const again = first && (!last || gin);  // what its first product made is kept too
        double const taken = first ? (l > 0 ? in : 0) : wide;
        auto const array = [&](int k, double columns) { of_all[k] = std::max(of_all[k], columns); };
        bool const used_again = sage || (m.residual && !m.layer_norm), last_apart = sage && l > 0 && first;
        if (m.residual || !last || !(layers_far || last_apart)) array(0, out);
        else if (!layers_far) array(1, out);
        if (l == 0 && !m.residual && !first) array(0, in);
        if (back && !m.residual) array(0, in);
        if (first ? sage : used_again) array(2, first ? out : in);
        if (first || back || !used_again) array(3, std::min(first ? out : in, panel));
        if (!first && back) of_block = std::max(of_block, wide);
        if (layers_far) {  // blocks on the device; rows read and written by blocks and by columns
          double const widest_block = std::max(back ? in : 0, out);
          of_block = std::max(of_block, widest_block), copies = std::max(copies, block * widest_block);
          if (!first && !sage) in_room(3, block * in);
          double const comes = padded(in), goes = padded(out);
          layers_cross += first ? (l > 0 ? comes : 0) + 5 * goes : 3 * comes + goes;
          if (first || back) layers_cross += (last ? 0 : goes) + 3 * (first ? goes : comes) + (first || !sage ? comes : 2 * comes);
        }
        auto& widest_taken = on_their_way[kept_rows<float>::taken];
        widest_taken = std::max(widest_taken, taken), kept_far_rows += taken + (again ? out : 0);
        if (again) on_their_way[kept_rows<float>::made] = std::max(on_their_way[kept_rows<float>::made], out);
      }
      if (first) {
        if (!kept_far) forward += sources * out, taken_back = std::max(taken_back, sources * out);
        parameters += in * out;  // the other matrix is counted below
        flops += 2 * sources * in * out * (back ? 3 : 2);
        if (sage) dense(targets, in, out, back);
        else parameters += out;
      } else {
        if (!kept_far || sage) forward += in_room(3, held(targets) * wide);
        if (back && !kept_far) taken_back = std::max(taken_back, targets * wide);
        dense(targets, wide, out, back);
        if (kept_far) flops += 2 * targets * wide * out;  // it is made again
      }
      if (gin && m.layer_norm)
        parameters += 2 * out, forward += in_room(4, held(targets) * out), terms = std::max(terms, held(targets) * out);
      if (gin)
        dense(targets, out, out, true), forward += in_room(5, held(targets) * out),
            middle_back = std::max(middle_back, held(targets) * out);
    }
    for (std::size_t r = 0; r < relations.size(); ++r) {  // what is aggregated, forward and (first, or where rows learn) backward
      std::uint32_t const from = s.relations[r].from, to = s.relations[r].to;
      if (!s.uses(l, to)) continue;
      double const columns = first ? out : width(l, from), at_once = kept_far ? std::min(columns, panel) : columns;
      if (full && (gcn || (kept_far && q.shard->how.shards > 1) || (sage && (first || back))))
        scaled[r] = std::max(scaled[r], at_once * n[to]);
      moved += (edges[l][r] + rows[l + 1][to]) * columns * 4;
      if (first || back) moved += (edges[l][r] + rows[l][from]) * columns * 4;
      // Rows of the table come to a shard once, where they are what is aggregated.
      bool const constant =
          q.shard && q.shard->how.strategy == shard_strategy::bulk && l == 0 && !first && !m.residual && (!kept_far || columns <= panel);
      aggregations += (1 + (first || back)) * std::ceil(columns / std::max(at_once, 1.0));
      crossed += columns * ((first || back ? 1 : 0) + (constant && q.input_dropout <= 0 ? 0 : 1));
      if (constant) kept = columns;
      if (!constant || q.input_dropout > 0 || back) widest = std::max(widest, at_once);
    }
  }
  if (m.residual) {
    double const targets = rows[layers][s.target];
    dense(targets, hidden, classes, true);
    if (m.layer_norm) parameters += 2 * hidden, forward += held(targets) * hidden, terms = std::max(terms, held(targets) * hidden);
    double& side = sides[layers % 2][s.target];
    forward += held(targets) * classes;
    if (!kept_far) side = std::max(side, targets * hidden);
    else if (!layers_far) of_all[1] = std::max(of_all[1], classes);
  }
  forward += std::accumulate(std::begin(of_rooms), std::end(of_rooms), 0.0);
  p.parameters = static_cast<std::uint64_t>(parameters);
  auto const take = [&](char const* what, double bytes, bool at_most = false) {
    if (bytes >= 1) p.near.push_back({what, static_cast<std::uint64_t>(std::llround(bytes)), at_most});
  };
  constexpr double room = 1.25, number = 4;
  double of_rows = 0;
  for (auto const& side : sides) of_rows += std::accumulate(side.begin(), side.end(), 0.0);
  take("parameters, their gradients, moments of Adam", parameters * 4 * number);
  double near_columns = std::accumulate(std::begin(of_all), std::end(of_all), 0.0);
  if (layers_far) {
    double const columns = padded(of_all[0]) + padded(of_all[1]) + padded(of_all[2]);
    p.host.push_back({"rows of layers", static_cast<std::uint64_t>(std::llround(number * n[0] * columns))});
    bool const one_layer = layers == 1 && !m.residual, at_scores = one_layer && product_first(0) && !sage,
               as_they_are = one_layer && (product_first(0) || !(q.shard->how.far_rows || (q.dropout && q.input_dropout > 0)));
    near_columns = (at_scores ? std::min(classes, panel) : panel) + (as_they_are ? 0 : panel) + classes;
    of_block += (as_they_are ? 1 : 3) * panel;  // rows that come, and two that go
  }
  take("activations of a step", room * number * forward + number * n[0] * near_columns);
  if (kept_far) {
    double const widest_kept = *std::max_element(std::begin(on_their_way), std::end(on_their_way));
    take("activations on their way",
         2 * room * number * block * (widest_kept + std::accumulate(std::begin(on_their_way), std::end(on_their_way), 0.0)));
    bool const in_file = !q.shard->how.scratch.empty();
    double const kept_bytes = number * n[0] * kept_far_rows;
    (in_file ? p.file : p.host).push_back({"activations", static_cast<std::uint64_t>(std::llround(kept_bytes))});
    if (in_file)
      p.host.push_back({"activations on their way to a file",
                        static_cast<std::uint64_t>(
                            2 * number * block * (widest_kept + std::accumulate(std::begin(on_their_way), std::end(on_their_way), 0.0)))});
    if (bool const crosses = q.load.where.kind == device_kind::cuda; crosses || in_file)
      p.reads.push_back({"activations", 0, 0, crosses ? 2 * kept_bytes : 0, in_file ? 2 * kept_bytes : 0});
    if (layers_far && q.load.where.kind == device_kind::cuda) p.reads.push_back({"rows of layers", 0, 0, number * n[0] * layers_cross});
  }
  take("gradients of a step", room * number * (taken_back + middle_back + copies + terms + of_rows + block * of_block) +
                                  (full ? 1 : room) * number * seeds * classes);
  auto const labels = static_cast<double>(label_bytes(m));
  take("labels and losses", (full ? n[s.target] : q.training + room * seeds) * labels + room * seeds * 20);
  bool const host = q.load.where.kind == device_kind::cpu, device = q.load.where.kind == device_kind::cuda;
  double const weight = q.load.weighted ? 4 : 0;
  double lists = 0, factors = 0, table = 0;  // bytes
  auto const for_evaluation = [&] {
    p.near.push_back(
        {"labels and scores of an evaluation",
         evaluator::bytes_for(m, {static_cast<std::uint64_t>(std::llround(q.training)), q.validation, q.test}, sizes.vertices[s.target])});
  };
  take("rows times their factors", number * std::accumulate(scaled.begin(), scaled.end(), 0.0));
  if (q.shard) {
    training_question::part const& of = *q.shard;
    bool const bulk = of.how.strategy == shard_strategy::bulk, mgg = of.how.strategy == shard_strategy::mgg;
    bool const here = q.gradients == training_question::exchange::near;  // all shards at one place
    double const own = of.vertices, arcs = of.edges, all = static_cast<double>(q.load.info.vertices),
                 directions = q.load.info.directed ? 2 : 1;
    auto const whole = [](double n) { return static_cast<std::uint64_t>(std::ceil(n)); };
    double const items = items_of(of), rows_of_items = own + arcs / slice_edges;
    // All rows of an owner may come instead of the needed ones.
    bool const may_be_whole = device && !here;
    double const needed = may_be_whole ? std::min(of.remote_rows / whole_above, all - own) : of.remote_rows;
    double const brought = bulk ? needed : mgg ? own : all;
    bool const packed = of.how.compressed_adjacency, far = of.how.remote_adjacency;
    double const adjacency_of = directions * shard_list_bytes(q), window = static_cast<double>(of.how.list_window),
                 items_near = std::min(items, window / 4), arcs_near = std::min(arcs, window);
    if (far || packed) take("windows of lists", 2 * (items_near * 16 + 8 + arcs_near * (4 + (far ? weight : 0))));
    if (far && packed)
      take("codes of a window of lists", static_cast<double>(packed_chunk::most_bytes(whole(items_near), whole(arcs_near), 2,
                                                                                      whole(rows_of_items), whole(all), whole(window))));
    if (far && device) p.reads.push_back({"lists of shards", 0, 0, adjacency_of / directions * aggregations});
    else take(packed ? "compressed adjacency of a shard, at most" : "adjacency of a shard", adjacency_of, packed);
    take("rows that a shard needs", bulk ? directions * 4 * needed : 0);
    auto const row = static_cast<double>(s.inputs[0]) * number;
    if (of.how.far_rows) {
      take("rows of two blocks", 2 * of.largest_block * row + own * sizeof(std::int64_t));
      double const passes = kept_far && !m.residual && !product_first(0) ? 1 : 2 + (sage && !m.residual),
                   bytes = passes * own * static_cast<double>(q.load.row_bytes);
      double const kept = std::min(static_cast<double>(q.load.rows_kept) / std::max(all, 1.0), 1.0),
                   home = q.load.rows_at_home ? static_cast<double>(*q.load.rows_at_home) / std::max(all, 1.0) : 1;
      p.reads.push_back(
          {"rows of the table", host ? bytes : bytes * kept, 0, host ? 0 : bytes * (1 - kept), bytes * std::max(1 - kept - home, 0.0)});
    } else {
      take("rows of a shard", own * row);
    }
    bool const rounded = of.how.wire != element::f32 && of.how.shards > 1;
    double const number_brought = bulk && rounded ? 2 : number;  // as they crossed
    take(mgg ? "sums of a shard" : "rows of other shards",
         room * (number_brought * (widest * brought + kept * needed) + number * widest * arcs / slice_edges));
    if (rounded) take("rows of a shard, rounded", room * 2 * widest * own);
    if (q.shard_windows && of.how.shards > 1)
      take("what shards share",
           std::max({own * std::max(widest, kept) * (rounded ? 2 : number), own * classes * number, parameters * number * of.blocks}));
    take("factors of edges", room * number * own * (gcn ? 3 : sage ? 1 : 0));
    take("gradients of blocks", parameters * number * of.blocks);
    if (of.evaluates) for_evaluation();
    double const reads = mgg ? std::min(arcs, arcs * (1 - own / std::max(all, 1.0))) : bulk ? needed : all - own;
    double const bytes = reads * crossed * (rounded ? 2 : number);
    p.reads.push_back({"rows of shards", here ? bytes : 0, here ? 0 : bytes, 0});
  } else if (full) {
    for (std::size_t r = 0; r < relations.size(); ++r) {
      auto const vertices = static_cast<double>(relations[r].info.vertices), arcs = static_cast<double>(relations[r].info.edges);
      double const copies_of = relations[r].info.directed ? 2 : 1;
      lists += copies_of * room * ((device ? (vertices + 1) * 8 + arcs * 4 : 0) + arcs * weight);
      factors += number * (gcn ? room * 3 * vertices + 2 * vertices : sage ? room * vertices : 0);
    }
    for (std::uint32_t t = 0; t < types; ++t) table += n[t] * static_cast<double>(s.inputs[t]) * number;
    take("lists of the whole graph", lists);
    take("rows of the whole graph", table);
    take("factors of edges", factors);
    for_evaluation();
  } else {
    bool const inputs_back = product_first(0) || m.residual;
    for (std::size_t r = 0; r < relations.size(); ++r) {
      double const sources = rows[0][s.relations[r].from], targets = rows[1][s.relations[r].to];
      double const all = edges[0][r], back = inputs_back ? all : layers > 1 ? edges[1][r] : 0;
      lists += (targets + 1) * 8 + all * (4 + weight) + back * (24 + 4 + weight) + (sources + 1) * 8;
      factors += number * (gcn ? sources + 2 * targets : sage ? targets : 0);
    }
    take("edges of a step, and turned round", room * (lists + factors));
    if (gcn) take("degrees", n[0] * number * (q.load.weighted ? 2 : 1));
  }
  auto const steps = static_cast<double>(p.steps);
  p.flops = flops * steps, p.near_bytes = moved * steps;
  if (!full) {
    std::uint64_t const remote_adjacency = std::min(p.load.list_bytes, p.load.sample.bytes_link());
    read_by_tier read{"lists", 0, 0, static_cast<double>(remote_adjacency)};
    (q.lists_on_peer ? read.peer : read.near) = static_cast<double>(p.load.list_bytes - remote_adjacency);
    p.reads.push_back(read);
    p.reads.push_back({"rows", p.load.near_bytes, 0, static_cast<double>(p.load.rows.bytes_link()), p.load.file_bytes});
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
  if (full) return p;  // an evaluation has a step's own arrays
  auto const far_row_bytes = [&](std::uint64_t row_bytes, std::uint64_t kept, double vertices) {
    return host ? 0 : static_cast<double>(row_bytes) * (1 - std::min(1.0, static_cast<double>(kept) / std::max(vertices, 1.0)));
  };
  if (q.load.types.empty()) {
    inference_sizes of;
    of.model = m, of.vertices = q.load.info.vertices, of.edges = q.load.info.edges, of.weighted = q.load.weighted;
    of.longest = q.load.degrees.empty() ? of.edges : static_cast<std::uint64_t>(q.load.degrees.front().degree);
    of.far_row_bytes = far_row_bytes(q.load.row_bytes, q.load.rows_kept, n[0]);
    p.evaluation = plan_layers(of, q.evaluation_near);
    return p;
  }
  for (std::size_t r = 0; r < relations.size(); ++r)
    for (vertex_class const& c : q.load.types[relations[r].to].classes)
      sizes.relations[r].longest = std::max(sizes.relations[r].longest, static_cast<std::uint64_t>(c.degrees[r]));
  for (std::uint32_t t = 0; t < types; ++t)
    sizes.row_bytes.push_back(far_row_bytes(q.load.types[t].row_bytes, q.load.types[t].rows_kept, n[t]));
  p.evaluation.near_bytes = whole_pass::bytes_for(device, sizes, s);
  if (p.evaluation.near_bytes <= q.evaluation_near) {
    layer_plan& all = p.evaluation.layers.emplace_back();
    for (std::uint32_t t = 0; t < types; ++t) all.bytes_in += static_cast<std::uint64_t>(sizes.row_bytes[t] * n[t]);
    for (load_relation const& r : relations)
      if (!host) all.list_bytes += r.info.edges * sizes.edge_bytes() + (r.info.vertices + 1) * 8;
    return p;
  }
  types_plan const parts = plan_types(s, sizes, q.evaluation_near);
  p.evaluation.near_bytes = std::max(parts.near_bytes, parts.least);
  for (inference_report::layer const& of : parts.layers) {
    layer_plan& l = p.evaluation.layers.emplace_back();
    l.bytes_in = of.rows_in, l.bytes_out = of.rows_out, l.list_bytes = of.lists;
  }
  return p;
}

}  // namespace garner
