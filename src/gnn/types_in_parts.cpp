#include "gnn/types_in_parts.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"

namespace garner {

namespace {
using steady = std::chrono::steady_clock;
double ms_since(steady::time_point from) { return std::chrono::duration<double, std::milli>(steady::now() - from).count(); }
std::uint64_t grown(std::uint64_t bytes) { return bytes + bytes / 4; }  // room()
}  // namespace

types_in_parts::types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                               std::span<tiered_tensor* const> tables, list_side side, bool weighted, std::uint64_t near)
    : x_(x), net_(net), scaling_(scaling), tables_(tables.begin(), tables.end()), weighted_(weighted) {
  for (vertex_type const& t : g.types()) counts_.push_back(t.count);
  lists_.reserve(g.edges().size());
  for (std::size_t r = 0; r < g.edges().size(); ++r) lists_.emplace_back(g.lists(r), pulled_side(side), weighted, false);
  plan(near);
}

void types_in_parts::plan(std::uint64_t near) {
  network_shape const& s = net_.shape();
  std::uint64_t most = 1, widest = s.classes, outs = s.classes, longest = 1, edges = 1;
  for (std::uint64_t const n : counts_) most = std::max(most, n);
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    outs = std::max(outs, net_.outputs(l));
    for (std::uint32_t t = 0; t < counts_.size(); ++t) widest = std::max(widest, net_.width(l, t));
  }
  for (std::uint64_t const w : s.inputs) widest = std::max(widest, w);
  for (whole_graph const& g : lists_) {
    std::uint64_t const* const at = g.pulled().offsets;
    for (std::uint64_t v = 0; v < g.vertices(); ++v) longest = std::max(longest, at[v + 1] - at[v]);
    edges = std::max(edges, at[g.vertices()]);
  }
  // A chunk: aggregated, its own, brought; what its layer makes; residual: what goes round it, encoded.
  std::uint64_t const types = counts_.size();
  std::uint64_t const row_bytes = grown((4 * widest + types * s.layers * 5 * outs + (s.residual ? 4 * types * s.hidden : 0)) * 4) + 16;
  std::uint64_t const share = std::min<std::uint64_t>(near / 8, std::uint64_t{8} << 30);
  chunk_ = std::clamp<std::uint64_t>(share / row_bytes, std::min<std::uint64_t>(most, 32), most);
  part_edges_ = std::max(longest, std::min(edges, share / (2 * edge_bytes())));
  std::uint64_t const slices = 2 * (part_edges_ / slice_edges);
  std::uint64_t fixed = chunk_ * row_bytes + grown(part_edges_ * edge_bytes() + (chunk_ + 1) * 8) + grown(most * 8) +
                        grown(slices * (widest * sizeof(float) + 48));
  if (s.kind == model_kind::sage) fixed += most * sizeof(float);  // sums of weights, once
  std::uint64_t used = fixed, least = 0;
  rooms_.assign(s.layers, std::vector<room_of>(types));
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    inference_report::layer told;
    std::uint64_t narrow = 0, far = 0;
    for (std::uint32_t t = 0; t < types; ++t) {
      if (!net_.uses(l, t)) continue;
      room_of& of = rooms_[l][t];
      std::uint64_t const left = near > fixed ? near - fixed : 0, sums = counts_[t] * net_.outputs(l) * sizeof(float);
      of.sums_near = sums <= left / 2;
      far += !of.sums_near;
      std::uint64_t const rest = left - (of.sums_near ? sums : 0);
      of.columns.assign(lists_.size(), 0);
      std::uint64_t widest_block = 0;
      for (std::size_t r = 0; r < lists_.size(); ++r) {
        if (s.relations[r].to != t) continue;
        std::uint32_t const f = s.relations[r].from;
        std::uint64_t const wide = net_.width(l, f), column = std::max<std::uint64_t>(counts_[f], 1) * sizeof(float);
        std::uint64_t fit = std::min(wide, rest / grown(column));
        if (fit >= 8 && fit < wide) fit = fit / 8 * 8;
        of.columns[r] = fit;
        narrow += fit < wide;
        if (fit == 0) least = std::max(least, fixed + grown(column));
        widest_block = std::max(widest_block, grown(fit * column));
      }
      used = std::max(used, fixed + (of.sums_near ? sums : 0) + widest_block);
    }
    told.how = narrow ? "some columns of a relation's rows near at a time" : "the rows of a relation near at a time";
    if (far) told.how += ", sums in host memory";
    planned_.layers.push_back(std::move(told));
  }
  if (least || near <= fixed)
    fail(errc::memory,
         "exact inference of {} types wants {} at least for what a chunk works in and one column of the rows of a type, and may take {}; "
         "give it more (near_bytes), or a larger device",
         types, format_bytes(std::max(least, fixed + most * 5)), format_bytes(near));
  planned_.near_bytes = used;
  for (std::size_t t = 0; t < types; ++t) {
    auto const far_rows = static_cast<double>(tables_[t]->tiers()[tier::host] + tables_[t]->tiers()[tier::file]);
    planned_.floor_bytes += static_cast<std::uint64_t>(far_rows * static_cast<double>(tables_[t]->row_bytes()));
    for (std::uint32_t l = s.residual ? 0 : 1; l < s.layers; ++l)
      planned_.floor_bytes += counts_[t] * net_.width(l, static_cast<std::uint32_t>(t)) * 4;
  }
  if (x_.on_device())
    if (auto const link = known_link(x_.device())) planned_.link_gbs = link->to_device_gbs;
}

types_in_parts::stored types_in_parts::make(std::uint32_t layer, std::uint32_t t) const {
  stored made;
  std::uint64_t const n = counts_[t];
  made.source = buffer<float>(tier::host, n * net_.width(layer, t), x_.device(), "rows of a layer in host memory");
  if (two_stores()) made.before = buffer<float>(tier::host, n * net_.shape().hidden, x_.device(), "rows of a layer in host memory");
  return made;
}

void types_in_parts::give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count) {
  rows_in const source = net_.source_of(x_, to_layer, t, rows, count);
  auto const put = [&](buffer<float>& to, rows_in from) {
    std::uint64_t const width = from.stride, bytes = count * width * sizeof(float);
    x_.copy(to.data() + first * width, from.data, bytes);
    told_->rows_out += bytes;
  };
  put(next_[t].source, source);
  if (two_stores()) put(next_[t].before, rows);
  x_.wait();  // the next chunk is worked out where this one lies
}

void types_in_parts::bring_rows(std::uint32_t t, buffer<float> const& from, std::uint64_t width, std::uint64_t first, std::uint64_t count,
                                float* to) {
  if (from.empty()) {
    try {
      take_rows(x_, *tables_[t], scaling_, first, count, to, &taking_);
    } catch (error const& e) {
      fail(e.code(), "'{}': {}", net_.shape().types[t], e.what());
    }
    told_->rows_in += count * tables_[t]->row_bytes();
    return;
  }
  x_.copy(to, from.data() + first * width, count * width * sizeof(float));
  told_->rows_in += count * width * sizeof(float);
}

// The table to host memory, where it is wanted by columns.
void types_in_parts::lay_out(std::uint32_t t) {
  std::uint64_t const n = counts_[t], width = net_.width(0, t);
  buffer<float> to(tier::host, n * width, x_.device(), "rows of a layer in host memory");
  float* const near = room(x_, own_, chunk_ * width, "rows of targets");
  for (std::uint64_t first = 0; first < n; first += chunk_) {
    check_interrupted();
    std::uint64_t const count = std::min(chunk_, n - first);
    bring_rows(t, rows_[t].source, width, first, count, near);
    x_.copy(to.data() + first * width, near, count * width * sizeof(float));
    x_.wait();
    told_->rows_out += count * width * sizeof(float);
  }
  rows_[t].source = std::move(to);
}

// Columns [begin, begin + columns) of what is aggregated of all vertices of a type.
void types_in_parts::bring_block(std::uint32_t l, std::uint32_t t, std::uint64_t begin, std::uint64_t columns, float* to) {
  std::uint64_t const n = counts_[t], width = net_.width(l, t);
  if (columns < width && rows_[t].source.empty()) lay_out(t);
  buffer<float> const& from = rows_[t].source;
  for (std::uint64_t first = 0; first < n; first += chunk_) {
    check_interrupted();
    std::uint64_t const count = std::min(chunk_, n - first);
    if (columns == width) {
      bring_rows(t, from, width, first, count, to + first * columns);
      continue;
    }
    if (staged_.size() < count * columns) staged_ = buffer<float>(tier::host, chunk_ * columns, x_.device(), "columns on their way");
    shared_pool().run(count, 256, [&](std::uint64_t a, std::uint64_t b) {
      for (std::uint64_t i = a; i < b; ++i)
        std::memcpy(staged_.data() + i * columns, from.data() + (first + i) * width + begin, columns * sizeof(float));
    });
    x_.copy(to + first * columns, staged_.data(), count * columns * sizeof(float));
    x_.wait();
    told_->rows_in += count * columns * sizeof(float);
  }
}

void types_in_parts::add_up(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, buffer<float>& sums) {
  network_shape const& s = net_.shape();
  room_of const& of = rooms_[l][t];
  std::uint64_t const out = net_.outputs(l), n = counts_[t];
  bool any = false;
  for (std::uint32_t r = 0; r < lists_.size(); ++r) {
    if (s.relations[r].to != t) continue;
    whole_graph::lists const& lists = lists_[r].pulled();
    {
      buffer<float> const degrees = bring(x_, lists_[r].degrees(), "degrees");
      edges_.normalise_whole(x_, aggregation::mean, degrees.data(), lists_[r].vertices());
      x_.wait();
    }
    std::uint32_t const f = s.relations[r].from;
    std::uint64_t const wide = net_.width(l, f);
    network<float>::first_matrix const matrix = net_.first_of(l, t, r);
    for (std::uint64_t begin = 0; begin < wide; begin += of.columns[r]) {
      std::uint64_t const columns = std::min(of.columns[r], wide - begin);
      auto const begun = steady::now();
      rows_in const rows{room(x_, block_, counts_[f] * columns, "rows of a relation"), columns};
      bring_block(l, f, begin, columns, block_.data());
      x_.wait();
      told_->rows_ms += ms_since(begun);
      for (std::uint64_t first = 0, count = 0; first < n; first += count) {
        check_interrupted();
        std::uint64_t const* const at = lists.offsets + first;
        count = std::min(chunk_, n - first);
        auto const fit = static_cast<std::uint64_t>(std::upper_bound(at, at + count + 1, *at + part_edges_) - at) - 1;
        count = std::clamp<std::uint64_t>(fit, 1, count);
        edges_.take_part(x_, lists, first, count, lists_[r].vertices());
        told_->lists += (count + 1) * 8 + (at[count] - at[0]) * edge_bytes();
        rows_out const taken{room(x_, taken_, chunk_ * columns, "aggregated rows"), columns};
        edges_.forward(x_, rows, taken, count, columns, {}, first);
        float* const kept = sums.data() + first * out;
        rows_out const to = of.sums_near ? rows_out{kept, out} : net_.first_room(x_, l, t, count);
        std::uint64_t const bytes = count * out * sizeof(float);
        if (!of.sums_near && any) x_.copy(to.data, kept, bytes), told_->rows_in += bytes;
        p.products->product(false, true, count, out, columns, 1.f, taken.data, taken.stride, matrix.aggregated + begin, matrix.stride,
                            any ? 1.f : 0.f, to.data, to.stride);
        if (!of.sums_near) x_.copy(kept, to.data, bytes), told_->rows_out += bytes;
        x_.wait();
      }
      any = true;
    }
  }
}

void types_in_parts::finish(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, buffer<float> const& sums, bool any,
                            taker const& take) {
  network_shape const& s = net_.shape();
  bool const near = rooms_[l][t].sums_near;
  std::uint64_t const out = net_.outputs(l), n = counts_[t], width = net_.width(l, t);
  network<float>::first_matrix const matrix = net_.first_of(l, t);
  for (std::uint64_t first = 0; first < n; first += chunk_) {
    check_interrupted();
    std::uint64_t const count = std::min(chunk_, n - first);
    rows_out const to = net_.first_room(x_, l, t, count);
    if (any) {
      x_.copy(to.data, sums.data() + first * out, count * out * sizeof(float));
      if (!near) told_->rows_in += count * out * sizeof(float);
    }
    float* const own = room(x_, own_, chunk_ * width, "rows of targets");
    bring_rows(t, rows_[t].source, width, first, count, own);
    p.products->product(false, true, count, out, width, 1.f, own, width, matrix.own, matrix.stride, any ? 1.f : 0.f, to.data, to.stride);
    rows_in in{own, width};  // what goes round the layer
    if (two_stores()) {
      float* const before = room(x_, before_, chunk_ * s.hidden, "rows that go round a layer");
      bring_rows(t, rows_[t].before, s.hidden, first, count, before);
      in = {before, s.hidden};
    }
    rows_out const made = net_.finish(x_, p, l, t, in, count);
    if (l + 1 < s.layers) {
      give(l + 1, t, {made.data, made.stride}, first, count);
    } else {
      rows_out const scores = s.residual ? net_.scores_of(x_, p, {made.data, made.stride}, count) : made;
      take(first, count, {scores.data, scores.stride});
      x_.wait();
    }
  }
}

inference_report types_in_parts::run(blas& products, taker const& take) {
  network_shape const& s = net_.shape();
  network<float>::pass p;
  p.products = &products;
  inference_report report = planned_;
  std::uint32_t const types = static_cast<std::uint32_t>(counts_.size());
  rows_.clear(), rows_.resize(types);
  progress bar("inference by layers", s.layers);
  if (s.residual) {
    report.layers.insert(report.layers.begin(), inference_report::layer{"the product before the layers", 0, 0, 0, 0, 0, 0});
    told_ = &report.layers[0];
    auto const begun = steady::now();
    next_.clear();
    for (std::uint32_t t = 0; t < types; ++t) next_.push_back(make(0, t));
    for (std::uint32_t t = 0; t < types; ++t) {
      float* const rows = room(x_, own_, chunk_ * s.inputs[t], "rows of targets");
      for (std::uint64_t first = 0; first < counts_[t]; first += chunk_) {
        check_interrupted();
        std::uint64_t const count = std::min(chunk_, counts_[t] - first);
        bring_rows(t, rows_[t].source, s.inputs[t], first, count, rows);
        give(0, t, net_.encode(x_, p, t, {rows, s.inputs[t]}, count), first, count);
      }
    }
    rows_ = std::move(next_);
    told_->ms = told_->rows_ms = ms_since(begun);
  }
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    told_ = &report.layers[l + (s.residual ? 1 : 0)];
    auto const begun = steady::now();
    next_.clear(), next_.resize(types);
    for (std::uint32_t t = 0; t < types; ++t)
      if (l + 1 < s.layers) next_[t] = make(l + 1, t);
    for (std::uint32_t t = 0; t < types; ++t) {
      if (!net_.uses(l, t)) continue;
      bool const any = std::any_of(s.relations.begin(), s.relations.end(), [&](auto const& r) { return r.to == t; });
      buffer<float> sums;
      if (any) {
        tier const where = rooms_[l][t].sums_near ? x_.near() : tier::host;
        sums = buffer<float>(where, counts_[t] * net_.outputs(l), x_.device(), "sums of a layer");
        add_up(l, t, p, sums);
      }
      block_ = {};  // of another size next time
      finish(l, t, p, sums, any, take);
    }
    rows_ = std::move(next_);
    told_->ms = ms_since(begun);
    told_->targets_ms = told_->ms - told_->rows_ms;
    report.ms += told_->ms;
    bar.advance(1);
  }
  return report;
}

}  // namespace garner
