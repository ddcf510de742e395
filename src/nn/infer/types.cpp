#include "nn/infer/types.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "memory/budget.hpp"
#include "memory/link.hpp"

namespace garner {

types_in_parts::types_in_parts(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                               std::span<tiered_tensor* const> tables, edge_direction side, bool weighted, std::uint64_t near)
    : x_(x),
      far_(x, executor::urgent{}),
      out_(x, executor::urgent{}),
      net_(net),
      scaling_(scaling),
      tables_(tables.begin(), tables.end()),
      weighted_(weighted) {
  for (vertex_type const& t : g.types()) counts_.push_back(t.count);
  lists_.reserve(g.edges().size());
  for (std::size_t r = 0; r < g.edges().size(); ++r) lists_.emplace_back(g.adjacency(r), pulled_side(side), weighted, false);
  plan(near);
}

void types_in_parts::plan(std::uint64_t near) {
  network_shape const& s = net_.shape();
  types_sizes of{counts_, {}, {}, weighted_};
  for (whole_graph const& g : lists_) {
    std::uint64_t const* const at = g.pulled().offsets;
    std::uint64_t longest = 0;
    for (std::uint64_t v = 0; v < g.vertices(); ++v) longest = std::max(longest, at[v + 1] - at[v]);
    of.relations.push_back({g.vertices(), at[g.vertices()], longest});
  }
  for (tiered_tensor const* t : tables_) of.row_bytes.push_back(static_cast<double>(t->row_bytes()));
  types_plan p = plan_types(s, of, near);
  if (p.least)
    fail(errc::memory,
         "exact inference of {} types wants {} at least for what a chunk works in and one column of the rows of a type, and may take {}; "
         "give it more (near_bytes), or a larger device",
         counts_.size(), format_bytes(p.least), format_bytes(near));
  chunk_ = p.chunk, part_edges_ = p.part_edges, rooms_ = std::move(p.rooms);
  planned_.device_bytes = p.near_bytes, planned_.layers = std::move(p.layers);
  for (std::size_t t = 0; t < counts_.size(); ++t) {
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

void types_in_parts::wait() {
  for (executor* e : {&far_, &x_, &out_}) e->wait();
}

void types_in_parts::give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count) {
  put(next_[t].source, net_.source_of(x_, to_layer, t, rows, count), first, count);
  if (two_stores()) put(next_[t].before, rows, first, count);
}

void types_in_parts::put(buffer<float>& to, rows_in rows, std::uint64_t first, std::uint64_t count) {
  std::uint64_t const width = rows.stride, bytes = count * width * sizeof(float);
  float* const at = to.data() + first * width;
  told_->rows_out += bytes;
  if (x_.where().kind == device_kind::cpu) return x_.copy(at, rows.data, bytes);
  leased<buffer<float>>& by = outgoing_[puts_++ % 2];
  x_.copy(room(x_, by.fill(x_), chunk_ * width, "rows that go to host memory"), rows.data, bytes);
  lease<buffer<float>*> made = by.filled(x_);
  out_.copy(at, made.use(out_)->data(), bytes);
}

void types_in_parts::each_chunk(std::uint64_t n, chunk_maker const& bring, chunk_user const& use, chunk_end const& done) {
  auto const fetch = [&](std::uint64_t k) -> lease<chunk_rows*> {
    if (k * chunk_ >= n) return {};
    check_interrupted();
    leased<chunk_rows>& to = chunks_[k % 2];
    bring(k * chunk_, std::min(chunk_, n - k * chunk_), to.fill(far_));
    return to.filled(far_);
  };
  lease<chunk_rows*> here = fetch(0);
  for (std::uint64_t k = 0; k * chunk_ < n; ++k) {
    std::uint64_t const first = k * chunk_, count = std::min(chunk_, n - first);
    use(first, count, *here.use(x_));
    here = fetch(k + 1);
    if (done) done(first, count);
  }
}

void types_in_parts::bring_rows(std::uint32_t t, buffer<float> const& from, std::uint64_t width, std::uint64_t first, std::uint64_t count,
                                float* to) {
  if (from.empty()) {
    try {
      take_rows(far_, *tables_[t], scaling_, first, count, to, &taking_);
    } catch (error const& e) {
      fail(e.code(), "'{}': {}", net_.shape().types[t], e.what());
    }
    told_->rows_in += count * tables_[t]->row_bytes();
    return;
  }
  far_.copy(to, from.data() + first * width, count * width * sizeof(float));
  told_->rows_in += count * width * sizeof(float);
}

// The table to host memory, where it is wanted by columns.
void types_in_parts::lay_out(std::uint32_t t) {
  std::uint64_t const width = net_.width(0, t);
  laid_ = buffer<float>(tier::host, counts_[t] * width, x_.device(), "rows of a layer in host memory");
  each_chunk(
      counts_[t],
      [&](std::uint64_t first, std::uint64_t count, chunk_rows& to) {
        bring_rows(t, rows_[t].source, width, first, count, room(far_, to.own, chunk_ * width, "rows of targets"));
      },
      [&](std::uint64_t first, std::uint64_t count, chunk_rows const& rows) {
        put(laid_, {rows.own.data(), width}, first, count);
      });
  wait();
  rows_[t].source = std::move(laid_);
}

bool types_in_parts::bring_some(std::uint32_t l, block& b) {
  std::uint64_t const n = counts_[b.from], width = net_.width(l, b.from), first = b.done, count = std::min(chunk_, n - first);
  if (count == 0) return false;
  check_interrupted();
  b.done += count;
  buffer<float> const& from = rows_[b.from].source;
  float* const to = b.to + first * b.columns;
  if (b.columns == width) {
    bring_rows(b.from, from, width, first, count, to);
    return b.done < n;
  }
  leased<buffer<float>>& by = staged_[stagings_++ % 2];
  buffer<float>& rows = by.fill();
  if (rows.size() < count * b.columns) rows = buffer<float>(tier::host, chunk_ * b.columns, x_.device(), "columns on their way");
  shared_pool().run(count, 256, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i)
      std::memcpy(rows.data() + i * b.columns, from.data() + (first + i) * width + b.begin, b.columns * sizeof(float));
  });
  lease<buffer<float>*> made = by.filled(far_);
  far_.copy(to, made.use(far_)->data(), count * b.columns * sizeof(float));
  told_->rows_in += count * b.columns * sizeof(float);
  return b.done < n;
}

void types_in_parts::add_up(std::uint32_t l, std::uint32_t t, network<float>::pass const& p) {
  network_shape const& s = net_.shape();
  types_plan::room_of const& of = rooms_[l][t];
  std::uint64_t const out = net_.outputs(l), n = counts_[t];
  std::vector<block> blocks;
  auto begun = steady::now();
  for (std::uint32_t r = 0; r < lists_.size(); ++r) {
    if (s.relations[r].to != t) continue;
    std::uint32_t const from = s.relations[r].from;
    std::uint64_t const wide = net_.width(l, from), each = of.columns[r];
    if (each < wide && rows_[from].source.empty()) lay_out(from);
    for (std::uint64_t begin = 0; begin < wide; begin += each) blocks.push_back({r, from, begin, std::min(each, wide - begin)});
  }
  auto const start = [&](std::size_t k) {
    block& b = blocks[k];
    b.to = room(far_, blocks_[of.ahead ? k % 2 : 0], counts_[b.from] * b.columns, "rows of a relation");
  };
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    block& b = blocks[k];
    if (k == 0 || !of.ahead) start(k);
    while (bring_some(l, b)) {
    }
    far_.wait();
    told_->rows_ms += ms_since(begun);
    block* const next = of.ahead && k + 1 < blocks.size() ? &blocks[k + 1] : nullptr;
    if (next) start(k + 1);
    whole_graph::lists const& lists = lists_[b.relation].pulled();
    if (k == 0 || blocks[k - 1].relation != b.relation) {
      buffer<float> const degrees = bring(x_, lists_[b.relation].degrees(), "degrees");
      edges_.normalise_whole(x_, aggregation::mean, degrees.data(), lists_[b.relation].vertices());
      x_.wait();
    }
    rows_in const rows{b.to, b.columns};
    network<float>::first_matrix const matrix = net_.first_of(l, t, b.relation);
    for (std::uint64_t first = 0, count = 0; first < n; first += count) {
      check_interrupted();
      std::uint64_t const* const at = lists.offsets + first;
      count = std::min(chunk_, n - first);
      auto const fit = static_cast<std::uint64_t>(std::upper_bound(at, at + count + 1, *at + part_edges_) - at) - 1;
      count = std::clamp<std::uint64_t>(fit, 1, count);
      edges_.take_part(x_, lists, first, count, lists_[b.relation].vertices());
      told_->lists += (count + 1) * 8 + (at[count] - at[0]) * edge_bytes();
      rows_out const taken{room(x_, taken_, chunk_ * b.columns, "aggregated rows"), b.columns};
      edges_.forward(x_, rows, taken, count, b.columns, {}, first);
      float* const kept = sums_.data() + first * out;
      rows_out const to = of.sums_near ? rows_out{kept, out} : net_.first_room(x_, l, t, count);
      std::uint64_t const bytes = count * out * sizeof(float);
      bool const add = k > 0;
      if (!of.sums_near && add) x_.copy(to.data, kept, bytes), told_->rows_in += bytes;
      p.products->product(false, true, count, out, b.columns, 1.f, taken.data, taken.stride, matrix.aggregated + b.begin, matrix.stride,
                          add ? 1.f : 0.f, to.data, to.stride);
      if (!of.sums_near) x_.copy(kept, to.data, bytes), told_->rows_out += bytes;
      if (next) bring_some(l, *next);
    }
    while (next && bring_some(l, *next)) {
    }
    x_.wait();
    begun = steady::now();
  }
}

void types_in_parts::finish(std::uint32_t l, std::uint32_t t, network<float>::pass const& p, bool any, taker const& take) {
  network_shape const& s = net_.shape();
  bool const near = rooms_[l][t].sums_near, last = l + 1 == s.layers;
  std::uint64_t const out = net_.outputs(l), width = net_.width(l, t);
  network<float>::first_matrix const matrix = net_.first_of(l, t);
  rows_out scores;
  each_chunk(
      counts_[t],
      [&](std::uint64_t first, std::uint64_t count, chunk_rows& to) {
        bring_rows(t, rows_[t].source, width, first, count, room(far_, to.own, chunk_ * width, "rows of targets"));
        if (two_stores())
          bring_rows(t, rows_[t].before, s.hidden, first, count, room(far_, to.before, chunk_ * s.hidden, "rows that go round a layer"));
        if (!any || near) return;
        far_.copy(room(far_, to.sums, chunk_ * out, "sums of targets"), sums_.data() + first * out, count * out * sizeof(float));
        told_->rows_in += count * out * sizeof(float);
      },
      [&](std::uint64_t first, std::uint64_t count, chunk_rows const& rows) {
        rows_out const to = net_.first_room(x_, l, t, count);
        if (any) x_.copy(to.data, near ? sums_.data() + first * out : rows.sums.data(), count * out * sizeof(float));
        rows_in const own{rows.own.data(), width};
        p.products->product(false, true, count, out, width, 1.f, own.data, width, matrix.own, matrix.stride, any ? 1.f : 0.f, to.data,
                            to.stride);
        // What goes round the layer.
        rows_out const made = net_.finish(x_, p, l, t, two_stores() ? rows_in{rows.before.data(), s.hidden} : own, count);
        if (!last) give(l + 1, t, {made.data, made.stride}, first, count);
        else scores = s.residual ? net_.scores_of(x_, p, {made.data, made.stride}, count) : made;
      },
      [&](std::uint64_t first, std::uint64_t count) {
        if (last) take(first, count, {scores.data, scores.stride});
      });
  wait();
}

inference_report types_in_parts::run(blas& products, taker const& take) {
  try {
    return run_layers(products, take);
  } catch (...) {
    for (executor* e : {&far_, &x_, &out_}) try {  // before what they copy goes
        e->wait();
      } catch (...) {  // another error is reported
      }
    throw;
  }
}

inference_report types_in_parts::run_layers(blas& products, taker const& take) {
  network_shape const& s = net_.shape();
  network<float>::pass p;
  p.products = &products;
  inference_report report = planned_;
  for (inference_report::layer& of : report.layers) of = {of.how, 0, 0, 0, 0, 0, 0};
  std::uint32_t const types = static_cast<std::uint32_t>(counts_.size());
  rows_.clear(), rows_.resize(types);
  progress bar("inference by layers", s.layers);
  if (s.residual) {
    told_ = &report.layers[0];
    auto const begun = steady::now();
    next_.clear();
    for (std::uint32_t t = 0; t < types; ++t) next_.push_back(make(0, t));
    for (std::uint32_t t = 0; t < types; ++t) {
      std::uint64_t const width = s.inputs[t];
      each_chunk(
          counts_[t],
          [&](std::uint64_t first, std::uint64_t count, chunk_rows& to) {
            bring_rows(t, rows_[t].source, width, first, count, room(far_, to.own, chunk_ * width, "rows of targets"));
          },
          [&](std::uint64_t first, std::uint64_t count, chunk_rows const& rows) {
            give(0, t, net_.encode(x_, p, t, {rows.own.data(), width}, count), first, count);
          });
    }
    wait();
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
      if (any) {
        tier const where = rooms_[l][t].sums_near ? x_.near() : tier::host;
        sums_ = buffer<float>(where, counts_[t] * net_.outputs(l), x_.device(), "sums of a layer");
        add_up(l, t, p);
      }
      for (buffer<float>& b : blocks_) b = {};  // of another size next time
      finish(l, t, p, any, take);
      sums_ = {};
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
