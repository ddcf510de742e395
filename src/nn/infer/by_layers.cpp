#include "nn/infer/by_layers.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"
#include "core/progress.hpp"
#include "core/thread_pool.hpp"
#include "memory/link.hpp"

namespace garner {

inference_by_layers::inference_by_layers(executor& x, network<float>& net, row_scaling scaling, std::vector<tiered_tensor*> tables,
                                         std::vector<std::uint64_t> vertices)
    : x_(x),
      far_(x, executor::urgent{}),
      out_(x, executor::urgent{}),
      net_(net),
      scaling_(scaling),
      tables_(std::move(tables)),
      counts_(std::move(vertices)) {}

void inference_by_layers::plan_floor(std::vector<double> const& tables) {
  network_shape const& s = net_.shape();
  for (std::uint32_t t = 0; t < counts_.size(); ++t) {
    planned_.floor_bytes += static_cast<std::uint64_t>(tables[t]);
    for (std::uint32_t l = s.residual ? 0 : 1; l < s.layers; ++l) planned_.floor_bytes += counts_[t] * net_.width(l, t) * sizeof(float);
  }
  if (x_.on_device())
    if (auto const link = known_link(x_.device())) planned_.link_gbs = link->to_device_gbs;
}

inference_by_layers::store inference_by_layers::make(std::uint32_t t, std::uint64_t columns, std::uint64_t block, bool near) {
  std::uint64_t const n = counts_[t];
  store s{{}, n, columns, near ? columns : block, near};
  if (near) {
    s.data = buffer<float>(x_.near(), n * columns, x_.device(), "rows of a layer");
    return s;
  }
  for (buffer<float>& b : spare_)
    if (b.size() >= n * columns) {
      s.data = std::move(b);
      b = {};
      return s;
    }
  s.data = buffer<float>(tier::host, n * columns, x_.device(), "rows of a layer in host memory");
  return s;
}
void inference_by_layers::make_stores(std::uint32_t layer, std::uint32_t t, std::uint64_t block, bool near) {
  next_[t].source = make(t, net_.width(layer, t), block, near);
  if (std::uint64_t const hidden = net_.shape().hidden; two_stores()) next_[t].before = make(t, hidden, hidden, near);
}
void inference_by_layers::advance() {
  for (stores& of : rows_)
    for (store* const s : {&of.source, &of.before})
      if (!s->near && !s->data.empty()) spare_.push_back(std::move(s->data));
  rows_ = std::move(next_);
  next_.clear(), next_.resize(counts_.size());
}

void inference_by_layers::give(std::uint32_t to_layer, std::uint32_t t, rows_in rows, std::uint64_t first, std::uint64_t count) {
  put(next_[t].source, net_.source_of(x_, to_layer, t, rows, count), first, count);
  if (two_stores()) put(next_[t].before, rows, first, count);
}

void inference_by_layers::put(store& to, rows_in rows, std::uint64_t first, std::uint64_t count) {
  bool const stays = here(to);
  leased<buffer<float>>& by = outgoing_[stays ? 0 : puts_++ % 2];
  float* const packed = stays ? nullptr : room(x_, by.fill(x_), chunk_ * to.columns, "rows that go to host memory");
  for (std::uint64_t c = 0; c < to.columns; c += to.block) {
    std::uint64_t const w = std::min(to.block, to.columns - c);
    float* const at = stays ? to.data.data() + to.rows * c + first * w : packed + count * c;
    drop_rows(x_, rows_in{rows.data + c, rows.stride}, rows_out{at, w}, count, w, {});
  }
  if (!to.near) told_->rows_out += count * to.columns * sizeof(float);
  if (stays) return;
  lease<buffer<float>*> made = by.filled(x_);
  made.use(out_);
  for (std::uint64_t c = 0; c < to.columns; c += to.block) {
    std::uint64_t const w = std::min(to.block, to.columns - c);
    out_.copy(to.data.data() + to.rows * c + first * w, packed + count * c, count * w * sizeof(float));
  }
}

void inference_by_layers::bring(executor& by, std::uint64_t begin, std::uint64_t end, store const& from, std::uint64_t first,
                                std::uint64_t count, rows_out to) {
  for (std::uint64_t c = begin / from.block * from.block; c < end; c += from.block) {
    std::uint64_t const w = std::min(from.block, from.columns - c), low = std::max(c, begin), high = std::min(c + w, end),
                        columns = high - low;
    float const* at = from.data.data() + from.rows * c + first * w;
    rows_out const part{to.data + (low - begin), to.stride};
    if (!from.near) told_->rows_in += count * columns * sizeof(float);
    if (!here(from) && columns < w) {
      leased<buffer<float>>& packed = staged_[stagings_++ % 2];
      buffer<float>& rows = packed.fill();
      if (rows.size() < count * columns) rows = buffer<float>(tier::host, chunk_ * columns, x_.device(), "columns on their way");
      shared_pool().run(count, 256, [&](std::uint64_t i, std::uint64_t stop) {
        for (; i < stop; ++i) std::memcpy(rows.data() + i * columns, at + i * w + (low - c), columns * sizeof(float));
      });
      lease<buffer<float>*> made = packed.filled(by);
      by.copy(part.data, made.use(by)->data(), count * columns * sizeof(float));
      continue;
    }
    if (!here(from) && to.stride == w) {
      by.copy(part.data, at, count * w * sizeof(float));
      continue;
    }
    if (!here(from)) {
      float* const whole = room(by, bringing_, chunk_ * from.columns, "rows that come from host memory");
      by.copy(whole, at, count * w * sizeof(float));
      at = whole;
    }
    drop_rows(by, rows_in{at + (low - c), w}, part, count, columns, {});
  }
}

void inference_by_layers::bring_rows(executor& by, std::uint32_t t, store const& from, std::uint64_t first, std::uint64_t count,
                                     float* to) {
  if (from.columns) return bring(by, 0, from.columns, from, first, count, {to, from.columns});
  naming_type(net_.shape().types[t], [&] { take_rows(by, *tables_[t], scaling_, first, count, to, &taking_); });
  told_->rows_in += static_cast<std::uint64_t>(row_bytes_[t] * static_cast<double>(count));
}

void inference_by_layers::each_chunk(std::uint64_t n, chunk_maker const& come, chunk_user const& use, part_user const& done) {
  auto const fetch = [&](std::uint64_t k) -> lease<chunk_rows*> {
    if (k * chunk_ >= n) return {};
    check_interrupted();
    leased<chunk_rows>& to = chunks_[k % 2];
    come(k * chunk_, std::min(chunk_, n - k * chunk_), to.fill(far_));
    return to.filled(far_);
  };
  lease<chunk_rows*> came = fetch(0);
  for (std::uint64_t k = 0; k * chunk_ < n; ++k) {
    std::uint64_t const first = k * chunk_, count = std::min(chunk_, n - first);
    use(first, count, *came.use(x_));
    came = fetch(k + 1);
    if (done) done(first, count);
  }
}

void inference_by_layers::each_rows(std::uint32_t t, row_user const& use) {
  store const& from = rows_[t].source;
  std::uint64_t const width = from.columns ? from.columns : tables_[t]->width();
  each_chunk(
      counts_[t],
      [&](std::uint64_t first, std::uint64_t count, chunk_rows& to) {
        if (from.near) return;
        bring_rows(far_, t, from, first, count, room(far_, to.own, chunk_ * width, "rows that come from host memory"));
      },
      [&](std::uint64_t first, std::uint64_t count, chunk_rows const& rows) {
        use(first, count, {from.near ? from.at(first) : rows.own.data(), width});
      });
}

void inference_by_layers::each_part(whole_graph const& g, std::uint64_t targets, std::uint64_t most, bool near, part_user const& use) {
  whole_graph::lists const& lists = g.pulled();
  for (std::uint64_t first = 0, count = 0; first < targets; first += count) {
    check_interrupted();
    count = std::min(most, targets - first);
    if (!near) {
      std::uint64_t const* const at = lists.offsets + first;
      auto const fit = static_cast<std::uint64_t>(std::upper_bound(at, at + count + 1, *at + part_edges_) - at) - 1;
      count = std::clamp<std::uint64_t>(fit, 1, count);
      edges_.take_part(x_, lists, first, count, g.vertices());
      told_->lists += (count + 1) * 8 + (at[count] - at[0]) * (lists.weights ? 8 : 4);
    }
    use(first, count);
  }
}

void inference_by_layers::lay_out(std::uint32_t t, std::uint64_t block) {
  laid_ = make(t, net_.width(0, t), block, false);
  each_rows(t, [&](std::uint64_t first, std::uint64_t count, rows_in rows) { put(laid_, rows, first, count); });
  wait_all();
  rows_[t].source = std::move(laid_);
}

void inference_by_layers::multiply(pass const& p, network<float>::first_matrix const& m, float const* by, rows_in rows, std::uint64_t count,
                                   std::uint64_t columns, bool add, rows_out to) {
  p.products->product(false, true, count, m.out, columns, 1.f, rows.data, rows.stride, by, m.stride, add ? 1.f : 0.f, to.data, to.stride);
}

void inference_by_layers::wait_all() {
  for (executor* e : {&x_, &far_, &out_}) e->wait();
}

void inference_by_layers::run_layers(blas& products, score_taker const& take, inference_report& report) {
  network_shape const& s = net_.shape();
  pass p;
  p.products = &products;
  for (inference_report::layer& of : report.layers) of = {of.how, 0, 0, 0, 0, 0, 0};
  for (auto* const of : {&rows_, &next_}) of->clear(), of->resize(counts_.size());
  auto begun = steady::now();
  prepare();
  report.prepare_ms = ms_since(begun);
  progress bar("inference by layers", s.layers);
  told_ = report.layers.data();
  if (s.residual) {
    begun = steady::now();
    make_next(0);
    for (std::uint32_t t = 0; t < counts_.size(); ++t)
      each_rows(
          t, [&](std::uint64_t first, std::uint64_t count, rows_in rows) { give(0, t, net_.encode(x_, p, t, rows, count), first, count); });
    wait_all();
    told_->ms = told_->rows_ms = ms_since(begun);
    advance(), ++told_;
  }
  for (std::uint32_t l = 0; l < s.layers; ++l, ++told_) {
    begun = steady::now();
    layer(l, p, take);
    told_->ms = ms_since(begun);
    told_->targets_ms = told_->ms - told_->rows_ms;
    if (l + 1 < s.layers) advance();
    bar.advance(1);
  }
  report.ms = report.prepare_ms;
  for (auto const& of : report.layers) report.ms += of.ms;
}

inference_report inference_by_layers::run(blas& products, score_taker const& take) {
  inference_report report = planned_;
  try {
    run_layers(products, take, report);
  } catch (...) {
    for (executor* e : {&x_, &far_, &out_}) try {  // before what they copy goes
        e->wait();
      } catch (...) {  // another error is reported
      }
    throw;
  }
  return report;
}

}  // namespace garner
