#include "nn/infer/types.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/budget.hpp"

namespace garner {

namespace {
std::vector<std::uint64_t> vertices_of(hetero_graph const& g) {
  std::vector<std::uint64_t> counts;
  for (vertex_type const& t : g.types()) counts.push_back(t.count);
  return counts;
}
}  // namespace

types_in_parts::types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                               std::span<tiered_tensor* const> tables, edge_direction side, bool weighted, std::uint64_t near)
    : inference_by_layers(x, net, scaling, {tables.begin(), tables.end()}, vertices_of(g)) {
  types_sizes of{counts_, {}, {}, weighted};
  lists_.reserve(g.edges().size());
  for (std::size_t r = 0; r < g.edges().size(); ++r) {
    whole_graph const& lists = lists_.emplace_back(g.adjacency(r), pulled_side(side), weighted, false);
    std::uint64_t const* const at = lists.pulled().offsets;
    std::uint64_t longest = 0;
    for (std::uint64_t v = 0; v < lists.vertices(); ++v) longest = std::max(longest, at[v + 1] - at[v]);
    of.relations.push_back({lists.vertices(), at[lists.vertices()], longest});
  }
  std::vector<double> far_bytes;
  for (tiered_tensor* const t : tables_) {
    row_bytes_.push_back(static_cast<double>(t->row_bytes()));
    far_bytes.push_back(static_cast<double>(t->tiers()[tier::host] + t->tiers()[tier::file]) * row_bytes_.back());
  }
  of.row_bytes = row_bytes_;
  types_plan p = plan_types(net.shape(), of, near);
  if (p.least)
    fail(errc::memory,
         "exact inference of {} types wants {} at least for what a chunk works in and one column of the rows of a type, and may take {}; "
         "give it more (near_bytes), or a larger device",
         counts_.size(), format_bytes(p.least), format_bytes(near));
  chunk_ = p.chunk, part_edges_ = p.part_edges, rooms_ = std::move(p.rooms);
  planned_.device_bytes = p.near_bytes, planned_.layers = std::move(p.layers);
  plan_floor(far_bytes);
}

void types_in_parts::make_next(std::uint32_t layer) {
  for (std::uint32_t t = 0; t < counts_.size(); ++t) make_stores(layer, t, net_.width(layer, t), false);
}

bool types_in_parts::bring_some(block& b) {
  std::uint64_t const n = counts_[b.from], first = b.done, count = std::min(chunk_, n - first);
  if (count == 0) return false;
  check_interrupted();
  b.done += count;
  store const& from = rows_[b.from].source;
  float* const to = b.to + first * b.columns;
  if (from.columns) bring(far_, b.begin, b.begin + b.columns, from, first, count, {to, b.columns});
  else bring_rows(far_, b.from, from, first, count, to);
  return b.done < n;
}

void types_in_parts::add_up(std::uint32_t l, std::uint32_t t, pass const& p) {
  network_shape const& s = net_.shape();
  types_plan::room_of const& of = rooms_[l][t];
  std::uint64_t const out = net_.outputs(l), n = counts_[t];
  std::vector<block> blocks;
  auto begun = steady::now();
  for (std::uint32_t r = 0; r < lists_.size(); ++r) {
    if (s.relations[r].to != t) continue;
    std::uint32_t const from = s.relations[r].from;
    std::uint64_t const wide = net_.width(l, from), each = of.columns[r];
    if (each < wide && rows_[from].source.columns == 0) lay_out(from, wide);
    for (std::uint64_t begin = 0; begin < wide; begin += each) blocks.push_back({r, from, begin, std::min(each, wide - begin)});
  }
  auto const start = [&](std::size_t k) {
    block& b = blocks[k];
    b.to = room(far_, blocks_[of.ahead ? k % 2 : 0], counts_[b.from] * b.columns, "rows of a relation");
  };
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    block& b = blocks[k];
    if (k == 0 || !of.ahead) start(k);
    while (bring_some(b)) {
    }
    far_.wait();
    told_->rows_ms += ms_since(begun);
    block* const next = of.ahead && k + 1 < blocks.size() ? &blocks[k + 1] : nullptr;
    if (next) start(k + 1);
    if (k == 0 || blocks[k - 1].relation != b.relation) {
      buffer<float> const degrees = garner::bring(x_, lists_[b.relation].degrees(), "degrees");
      edges_.normalise_whole(x_, aggregation::mean, degrees.data(), lists_[b.relation].vertices());
      x_.wait();
    }
    rows_in const rows{b.to, b.columns};
    network<float>::first_matrix const matrix = net_.first_of(l, t, b.relation);
    each_part(lists_[b.relation], n, chunk_, false, [&](std::uint64_t first, std::uint64_t count) {
      rows_out const taken{room(x_, taken_, chunk_ * b.columns, "aggregated rows"), b.columns};
      edges_.forward(x_, rows, taken, count, b.columns, {}, first);
      float* const kept = sums_.data() + first * out;
      rows_out const to = of.sums_near ? rows_out{kept, out} : net_.first_room(x_, l, t, count);
      std::uint64_t const bytes = count * out * sizeof(float);
      bool const add = k > 0;
      if (!of.sums_near && add) x_.copy(to.data, kept, bytes), told_->rows_in += bytes;
      multiply(p, matrix, matrix.aggregated + b.begin, {taken.data, taken.stride}, count, b.columns, add, to);
      if (!of.sums_near) x_.copy(kept, to.data, bytes), told_->rows_out += bytes;
      if (next) bring_some(*next);
    });
    while (next && bring_some(*next)) {
    }
    x_.wait();
    begun = steady::now();
  }
}

void types_in_parts::finish(std::uint32_t l, std::uint32_t t, pass const& p, bool any, score_taker const& take) {
  network_shape const& s = net_.shape();
  bool const near = rooms_[l][t].sums_near, last = l + 1 == s.layers;
  std::uint64_t const out = net_.outputs(l), width = net_.width(l, t);
  network<float>::first_matrix const matrix = net_.first_of(l, t);
  rows_out scores;
  each_chunk(
      counts_[t],
      [&](std::uint64_t first, std::uint64_t count, chunk_rows& to) {
        auto const& [source, before] = rows_[t];
        bring_rows(far_, t, source, first, count, room(far_, to.own, chunk_ * width, "rows of targets"));
        if (two_stores()) bring_rows(far_, t, before, first, count, room(far_, to.before, chunk_ * s.hidden, "rows that go round a layer"));
        if (!any || near) return;
        far_.copy(room(far_, to.sums, chunk_ * out, "sums of targets"), sums_.data() + first * out, count * out * sizeof(float));
        told_->rows_in += count * out * sizeof(float);
      },
      [&](std::uint64_t first, std::uint64_t count, chunk_rows const& rows) {
        rows_out const to = net_.first_room(x_, l, t, count);
        if (any) x_.copy(to.data, near ? sums_.data() + first * out : rows.sums.data(), count * out * sizeof(float));
        rows_in const own{rows.own.data(), width};
        multiply(p, matrix, matrix.own, own, count, width, any, to);
        // What goes round the layer.
        rows_out const made = net_.finish(x_, p, l, t, two_stores() ? rows_in{rows.before.data(), s.hidden} : own, count);
        tell_embeddings(l, t, made, first, count);
        if (!last) give(l + 1, t, {made.data, made.stride}, first, count);
        else scores = s.residual ? net_.scores_of(x_, p, {made.data, made.stride}, count) : made;
      },
      [&](std::uint64_t first, std::uint64_t count) {
        if (last) take(first, count, {scores.data, scores.stride});
      });
  wait_all();
}

void types_in_parts::layer(std::uint32_t l, pass const& p, score_taker const& take) {
  network_shape const& s = net_.shape();
  spare_.clear();  // of other sizes than those of the types here
  if (l + 1 < s.layers) make_next(l + 1);
  for (std::uint32_t t = 0; t < counts_.size(); ++t) {
    if (!net_.uses(l, t)) continue;
    bool const any = std::any_of(s.relations.begin(), s.relations.end(), [&](auto const& r) { return r.to == t; });
    if (any) {
      tier const where = rooms_[l][t].sums_near ? x_.near() : tier::host;
      sums_ = buffer<float>(where, counts_[t] * net_.outputs(l), x_.device(), "sums of a layer");
      add_up(l, t, p);
    }
    for (buffer<float>& b : blocks_) b = {};  // of another size next time
    finish(l, t, p, any, take);
    sums_ = {};
  }
}

}  // namespace garner
