#include "nn/infer/plan.hpp"

#include <algorithm>
#include <optional>

#include "core/fail.hpp"
#include "memory/budget.hpp"
#include "nn/aggregate.hpp"

namespace garner {

namespace {

constexpr std::uint64_t impossible = ~std::uint64_t{0};
std::uint64_t grown(std::uint64_t bytes) { return bytes + bytes / 4; }  // room()
enum class source_at : std::uint8_t { table, host, near };

struct planner {
  inference_sizes const& of;
  std::uint64_t near;
  bool lists_near;
  inference_plan plan{};
  std::uint64_t fixed = 0;  // stays on the device through all layers

  struct choice {
    std::uint64_t bytes = impossible, columns = impossible, near = 0;
    layer_plan plan{};
    bool better(choice const& b) const { return bytes != b.bytes ? bytes < b.bytes : columns < b.columns; }
  };
  std::vector<std::optional<choice>> known[3];

  model_options const& m() const { return of.model; }
  std::uint64_t in_of(std::uint32_t l) const { return l == 0 && !m().residual ? m().inputs : m().hidden; }
  std::uint64_t out_of(std::uint32_t l) const { return l + 1 == m().layers && !m().residual ? m().classes : m().hidden; }
  std::uint64_t rows_bytes(std::uint64_t columns) const { return of.vertices * columns * sizeof(float); }
  bool two_stores() const { return m().residual && m().layer_norm; }  // normed rows, and as they were
  std::uint64_t store_bytes() const { return rows_bytes(m().hidden) * (two_stores() ? 2 : 1); }
  std::uint64_t table_bytes() const { return static_cast<std::uint64_t>(of.far_row_bytes * static_cast<double>(of.vertices)); }
  std::uint64_t edge_bytes() const { return of.weighted ? 8 : 4; }

  // What is needed besides rows: lists, factors, and what a chunk of vertices works in.
  void set_fixed() {
    std::uint64_t const n = of.vertices;
    std::uint64_t widest = std::max({m().inputs, std::uint64_t{m().hidden}, m().classes}), a_row = 0;
    for (std::uint32_t l = 0; l < m().layers; ++l) a_row += 5 * out_of(l);
    a_row += 3 * std::uint64_t{m().hidden} * (m().residual ? 1 : 0) + m().classes;
    a_row += 9 * widest;                                            // aggregated, brought twice, laid out and sent twice, of its own
    a_row += 2 * (m().classes + (of.embeddings ? m().hidden : 0));  // staged until they have been sent
    std::uint64_t const row_bytes = grown(a_row * sizeof(float)) + 16;
    std::uint64_t const share = std::min<std::uint64_t>(near / 8, std::uint64_t{8} << 30);  // a chunk ends with its longest list
    plan.chunk = std::clamp<std::uint64_t>(share / row_bytes, std::min<std::uint64_t>(n, 32), std::max<std::uint64_t>(n, 1));
    fixed = plan.chunk * row_bytes +
            grown(n * sizeof(float) *
                  (m().kind == model_kind::gcn    ? 3
                   : m().kind == model_kind::sage ? 1
                                                  : 0)) +
            (m().kind == model_kind::gin ? 0 : n * sizeof(float));
    plan.lists_near = lists_near;
    plan.part_edges =
        lists_near ? of.edges : std::clamp<std::uint64_t>(share / (2 * edge_bytes()), 1, std::max<std::uint64_t>(of.edges, 1));
    plan.part_edges = std::max(plan.part_edges, of.longest);
    fixed += grown((lists_near ? n + 1 : plan.chunk + 1) * 8 + plan.part_edges * edge_bytes());
    // Sums of slices, and where they lie; of parts a bound is used.
    std::uint64_t const bound = 2 * (plan.part_edges / slice_edges), slices = of.slices == 0 ? 0 : bound;
    fixed += grown(slices * (widest * sizeof(float) + 48));
  }

  std::uint64_t list_bytes(std::uint64_t passes) const {
    return lists_near ? 0 : passes * (of.edges * edge_bytes() + (of.vertices + 1) * 8);
  }

  choice const& best(std::uint32_t l, source_at at) {
    auto& kept = known[static_cast<std::size_t>(at)][l];
    if (kept) return *kept;
    choice found;
    bool const last = l + 1 == m().layers;
    std::uint64_t const in = in_of(l), out = out_of(l);
    bool const own = m().kind == model_kind::sage;
    std::uint64_t const source = at == source_at::near ? store_bytes() : 0;
    std::uint64_t const read = at == source_at::near ? 0 : at == source_at::table ? table_bytes() : rows_bytes(in);
    for (bool const out_near : {true, false}) {
      if (last && out_near) continue;
      choice const* const next = last ? nullptr : &best(l + 1, out_near ? source_at::near : source_at::host);
      if (next && next->bytes == impossible) continue;
      std::uint64_t const given = last || out_near ? 0 : store_bytes();
      auto const consider = [&](layer_plan p, std::uint64_t room, std::uint64_t columns, std::uint64_t passes, bool residual_comes) {
        std::uint64_t const all = fixed + source + room + (out_near ? store_bytes() : 0);
        if (all > near) return;
        p.out_near = out_near;
        p.bytes_out += given;
        p.list_bytes = list_bytes(passes);
        if (m().residual && at != source_at::near && residual_comes) p.bytes_in += rows_bytes(m().hidden);
        choice c;
        c.plan = p;
        c.bytes = p.bytes_in + p.bytes_out + p.list_bytes + (next ? next->bytes : 0);
        c.columns = columns + (next ? next->columns : 0);
        c.near = std::max(all, next ? next->near : 0);
        if (c.better(found)) found = c;
      };
      layer_plan p;
      p.columns = in;
      p.bytes_in = read;
      consider(p, at == source_at::near ? 0 : rows_bytes(in), in, 1, two_stores());
      p.strategy = layer_way::products;
      if (own) {
        p.own_near = true;
        consider(p, 2 * rows_bytes(out), out, 1, true);
        p.own_near = false;
        p.bytes_in = 2 * read;
      }
      consider(p, rows_bytes(out), out, 1, true);
      if (at == source_at::near) continue;
      // The widest columns that fit, of whole sectors where they can be.
      p.bytes_in = at == source_at::table ? table_bytes() + rows_bytes(in) : read;
      p.bytes_out = at == source_at::table ? rows_bytes(in) : 0;
      p.relaid = at == source_at::table;
      auto const columns_in = [&](std::uint64_t used) -> std::uint64_t {
        std::uint64_t const all = fixed + (out_near ? store_bytes() : 0) + used;
        if (all >= near || of.vertices == 0) return 0;
        std::uint64_t const fit = std::min((near - all) / (of.vertices * sizeof(float)), in);
        return fit >= 8 ? fit / 8 * 8 : fit;
      };
      for (bool const far : {false, true}) {
        std::uint64_t const sums = far ? 0 : rows_bytes(out), columns = columns_in(sums);
        if (columns == 0) continue;
        std::uint64_t const blocks = (in + columns - 1) / columns;
        layer_plan q = p;
        q.strategy = far ? layer_way::far_sums : layer_way::columns;
        q.columns = columns;
        if (far) q.bytes_in += (blocks - 1) * rows_bytes(out), q.bytes_out += (blocks - 1) * rows_bytes(out);
        consider(q, sums + rows_bytes(columns), in, blocks, true);
      }
    }
    kept = found;
    return *kept;
  }

  bool run() {
    set_fixed();
    for (auto& k : known) k.resize(m().layers);
    choice const* first = nullptr;
    source_at at = source_at::table;
    if (m().residual) {
      plan.encode_in = table_bytes();
      choice const& from_near = best(0, source_at::near);
      choice const& from_host = best(0, source_at::host);
      std::uint64_t const through_host = from_host.bytes == impossible ? impossible : from_host.bytes + store_bytes();
      bool const can = from_near.bytes != impossible && fixed + store_bytes() <= near;
      plan.encoded_near = can && from_near.bytes <= through_host;
      plan.encode_out = plan.encoded_near ? 0 : store_bytes();
      at = plan.encoded_near ? source_at::near : source_at::host;
    }
    first = &best(0, at);
    if (first->bytes == impossible) return false;
    plan.near_bytes = std::max(first->near, plan.encoded_near ? fixed + store_bytes() : 0);
    for (std::uint32_t l = 0; l < m().layers; ++l) {
      plan.layers.push_back(best(l, at).plan);
      at = plan.layers.back().out_near ? source_at::near : source_at::host;
    }
    return true;
  }
};

}  // namespace

std::uint64_t inference_plan::bytes() const {
  std::uint64_t sum = encode_in + encode_out;
  for (layer_plan const& l : layers) sum += l.bytes_in + l.bytes_out + l.list_bytes;
  return sum;
}

std::string layer_plan::about() const {
  std::string text;
  switch (strategy) {
    case layer_way::rows:
      text = "all rows local";
      break;
    case layer_way::products:
      text = fmt::format("transformed rows local{}", own_near ? ", own rows too" : "");
      break;
    case layer_way::columns:
      text = fmt::format("{} columns local at a time, and the sums", columns);
      break;
    case layer_way::far_sums:
      text = fmt::format("{} columns local at a time, sums in host memory", columns);
      break;
  }
  if (relaid) text += ", the table laid out by columns first";
  if (list_bytes) text += ", adjacency in parts";
  return text + (out_near ? "; the result stays local" : "");
}

inference_plan plan_layers(inference_sizes const& of, std::uint64_t near) {
  planner with_lists{of, near, true, {}, 0, {}}, in_parts{of, near, false, {}, 0, {}};
  bool const whole = with_lists.run(), parts = in_parts.run();
  if (!whole && !parts)
    fail(errc::memory,
         "exact inference of {} vertices wants {} at least for what a chunk works in and one column of all rows, and may take {}; "
         "give it more (near_bytes), or a larger device",
         of.vertices, format_bytes(in_parts.fixed + in_parts.rows_bytes(1)), format_bytes(near));
  if (whole && (!parts || with_lists.plan.bytes() <= in_parts.plan.bytes())) return with_lists.plan;
  return in_parts.plan;
}

types_plan plan_types(network_shape const& s, types_sizes const& of, std::uint64_t near) {
  types_plan p;
  auto const types = static_cast<std::uint32_t>(of.vertices.size());
  bool const two_stores = s.residual && s.layer_norm;
  std::uint64_t most = 1, widest = s.classes, outs = s.classes, longest = 1, edges = 1;
  for (std::uint64_t const n : of.vertices) most = std::max(most, n);
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    outs = std::max(outs, s.outputs(l));
    for (std::uint32_t t = 0; t < types; ++t) widest = std::max(widest, s.width(l, t));
  }
  for (std::uint64_t const w : s.inputs) widest = std::max(widest, w);
  for (types_sizes::relation const& r : of.relations) longest = std::max(longest, r.longest), edges = std::max(edges, r.edges);
  // A chunk: aggregated; of two its own, their sums, what goes back; what its layer makes; residual: what goes round it, encoded.
  std::uint64_t const brought = 2 * (widest + outs + s.hidden + (two_stores ? s.hidden : 0));
  std::uint64_t const row_bytes =
      grown((widest + brought + types * s.layers * 5 * outs + (s.residual ? 4 * types * s.hidden : 0)) * 4) + 16;
  std::uint64_t const share = std::min<std::uint64_t>(near / 8, std::uint64_t{8} << 30);
  p.chunk = std::clamp<std::uint64_t>(share / row_bytes, std::min<std::uint64_t>(most, 32), most);
  p.part_edges = std::max(longest, std::min(edges, share / (2 * of.edge_bytes())));
  std::uint64_t const slices = 2 * (p.part_edges / slice_edges);
  std::uint64_t fixed = p.chunk * row_bytes + grown(p.part_edges * of.edge_bytes() + (p.chunk + 1) * 8) + grown(most * 8) +
                        grown(slices * (widest * sizeof(float) + 48));
  if (s.kind == model_kind::sage) fixed += most * sizeof(float);  // sums of weights, once
  p.near_bytes = fixed;
  p.rooms.assign(s.layers, std::vector<types_plan::room_of>(types));
  auto const whole = [](double bytes) { return static_cast<std::uint64_t>(bytes); };
  auto const of_table = [&](std::uint32_t t) { return whole(static_cast<double>(of.vertices[t]) * of.row_bytes[t]); };
  auto const stored = [&](std::uint32_t layer, std::uint32_t t) {
    return of.vertices[t] * (s.width(layer, t) + (two_stores ? s.hidden : 0)) * sizeof(float);
  };
  if (s.residual) {
    inference_report::layer& told = p.layers.emplace_back();
    told.how = "the product before the layers";
    for (std::uint32_t t = 0; t < types; ++t) told.rows_in += of_table(t), told.rows_out += stored(0, t);
  }
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    inference_report::layer told;
    std::uint64_t narrow = 0, far = 0, alone = 0;
    std::vector<bool> in_table(types, l == 0 && !s.residual);  // its rows are not in host memory yet
    for (std::uint32_t t = 0; t < types; ++t) {
      if (!s.uses(l, t)) continue;
      types_plan::room_of& room = p.rooms[l][t];
      std::uint64_t const n = of.vertices[t], left = near > fixed ? near - fixed : 0, sums = n * s.outputs(l) * sizeof(float);
      room.sums_near = sums <= left / 2;
      far += !room.sums_near;
      std::uint64_t const rest = left - (room.sums_near ? sums : 0);
      room.columns.assign(of.relations.size(), 0);
      std::uint64_t widest_block = 0, blocks = 0;
      for (std::size_t r = 0; r < of.relations.size(); ++r) {
        if (s.relations[r].to != t) continue;
        std::uint32_t const f = s.relations[r].from;
        std::uint64_t const wide = s.width(l, f), column = std::max<std::uint64_t>(of.vertices[f], 1) * sizeof(float);
        std::uint64_t fit = std::min(wide, rest / grown(column));
        if (fit >= 8 && fit < wide) fit = fit / 8 * 8;
        room.columns[r] = fit;
        narrow += fit < wide;
        if (fit == 0) p.least = std::max(p.least, fixed + grown(column));
        widest_block = std::max(widest_block, grown(fit * column));
        // What crosses: rows, laid out by columns first where these come from a table; lists for each block.
        std::uint64_t const laid = of.vertices[f] * wide * sizeof(float), times = fit ? (wide + fit - 1) / fit : 0;
        if (fit < wide && in_table[f]) told.rows_in += of_table(f), told.rows_out += laid, in_table[f] = false;
        told.rows_in += in_table[f] ? of_table(f) : laid;
        told.lists += times * (of.relations[r].edges * of.edge_bytes() + (n + (n + p.chunk - 1) / p.chunk) * 8);
        blocks += times;
      }
      room.ahead = 2 * widest_block <= rest;
      alone += !room.ahead;
      p.near_bytes = std::max(p.near_bytes, fixed + (room.sums_near ? sums : 0) + (room.ahead ? 2 : 1) * widest_block);
      if (!room.sums_near) told.rows_in += blocks * sums, told.rows_out += blocks * sums;  // but the first, and the last to go on from
      told.rows_in += in_table[t] ? of_table(t) : stored(l, t);
      if (l + 1 < s.layers) told.rows_out += stored(l + 1, t);
    }
    told.how = narrow ? "some columns of a relation's rows local at a time" : "the rows of a relation local at a time";
    if (far) told.how += ", sums in host memory";
    if (!alone) told.how += "; the next come meanwhile";
    p.layers.push_back(std::move(told));
  }
  if (p.least || near <= fixed) p.least = std::max(p.least, fixed + most * 5);
  return p;
}

}  // namespace garner
