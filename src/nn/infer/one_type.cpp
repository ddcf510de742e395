#include "nn/infer/one_type.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/fail.hpp"
#include "core/progress.hpp"
#include "memory/link.hpp"

namespace garner {

namespace {

constexpr std::uint64_t scores_at_once = 256u << 20;  // bytes

}  // namespace

layered_inference::layered_inference(executor& x, whole_graph const& g, model_options const& o, network<float>& net,
                                     tiered_tensor& features, std::optional<std::uint64_t> near)
    : x_(x),
      far_(x, executor::urgent{}),
      out_(x, executor::urgent{}),
      g_(g),
      o_(o),
      net_(net),
      features_(features),
      n_(g.vertices()),
      how_(aggregation_of(o.kind)) {
  inference_sizes s;
  s.model = o, s.vertices = n_, s.edges = g.pulled().offsets[n_], s.weighted = g.pulled().weights != nullptr;
  for (std::uint64_t v = 0; v < n_; ++v) {
    std::uint64_t const length = g.pulled().offsets[v + 1] - g.pulled().offsets[v];
    s.longest = std::max(s.longest, length);
    if (length > slice_edges) s.slices += length / slice_edges + 1;
  }
  row_bytes_ = static_cast<double>(features.row_bytes()) * static_cast<double>(features.tiers()[tier::host]) /
               static_cast<double>(std::max<std::uint64_t>(features.rows(), 1));
  s.far_row_bytes = row_bytes_;
  plan_ = plan_layers(s, near.value_or(free_near(x)));
}

inference_report layered_inference::planned() const {
  inference_report r;
  if (o_.residual) {
    std::string const how = plan_.encoded_near ? "the product before the layers; it stays local" : "the product before the layers";
    r.layers.push_back({how, plan_.encode_in, plan_.encode_out, 0, 0, 0, 0});
  }
  for (layer_plan const& l : plan_.layers) r.layers.push_back({l.about(), l.bytes_in, l.bytes_out, l.list_bytes, 0, 0, 0});
  r.device_bytes = plan_.near_bytes;
  r.floor_bytes = static_cast<std::uint64_t>(row_bytes_ * static_cast<double>(n_));
  for (std::uint32_t l = o_.residual ? 0 : 1; l < o_.layers; ++l) r.floor_bytes += n_ * net_.width(l, 0) * sizeof(float);
  std::uint64_t const edges = g_.pulled().offsets[n_];
  if (plan_.lists_near) r.lists = (n_ + 1) * 8 + edges * (g_.pulled().weights ? 8 : 4);
  if (x_.on_device())
    if (auto const link = known_link(x_.device())) r.link_gbs = link->to_device_gbs;
  return r;
}

std::uint64_t layered_inference::block_of(std::uint32_t l) const {
  layer_plan const& p = plan_.layers[l];
  return p.strategy == layer_way::columns || p.strategy == layer_way::far_sums ? p.columns : net_.width(l, 0);
}

layered_inference::stored layered_inference::make(std::uint64_t columns, std::uint64_t block, bool near) {
  stored s;
  s.columns = columns, s.block = near ? columns : block, s.near = near;
  if (near) {
    s.data = buffer<float>(x_.near(), n_ * columns, x_.device(), "rows of a layer");
    return s;
  }
  for (buffer<float>& b : spare_)
    if (b.size() >= n_ * columns) {
      s.data = std::move(b);
      b = {};
      return s;
    }
  s.data = buffer<float>(tier::host, n_ * columns, x_.device(), "rows of a layer in host memory");
  return s;
}
void layered_inference::make_next(std::uint32_t l, bool near) {
  next_source_ = make(net_.width(l, 0), block_of(l), near);
  if (o_.residual && o_.layer_norm) next_before_ = make(o_.hidden, o_.hidden, near);
}

void layered_inference::give(std::uint32_t to_layer, rows_in rows, std::uint64_t first, std::uint64_t count) {
  put(next_source_, net_.source_of(x_, to_layer, 0, rows, count), first, count);
  if (next_before_.columns) put(next_before_, rows, first, count);
}

void layered_inference::put(stored& to, rows_in rows, std::uint64_t first, std::uint64_t count) {
  bool const here = to.near || x_.where().kind == device_kind::cpu;
  leased<buffer<float>>& by = outgoing_[here ? 0 : puts_++ % 2];
  float* const packed = here ? nullptr : room(x_, by.fill(x_), plan_.chunk * to.columns, "rows that go to host memory");
  for (std::uint64_t c = 0; c < to.columns; c += to.block) {
    std::uint64_t const w = std::min(to.block, to.columns - c);
    float* const at = here ? to.data.data() + n_ * c + first * w : packed + count * c;
    drop_rows(x_, rows_in{rows.data + c, rows.stride}, rows_out{at, w}, count, w, {});
  }
  if (!to.near) told_->rows_out += count * to.columns * sizeof(float);
  if (here) return;
  lease<buffer<float>*> made = by.filled(x_);
  made.use(out_);
  for (std::uint64_t c = 0; c < to.columns; c += to.block) {
    std::uint64_t const w = std::min(to.block, to.columns - c);
    out_.copy(to.data.data() + n_ * c + first * w, packed + count * c, count * w * sizeof(float));
  }
}

void layered_inference::bring(executor& by, std::uint64_t begin, std::uint64_t end, stored const& from, std::uint64_t first,
                              std::uint64_t count, rows_out to) {
  for (std::uint64_t c = begin / from.block * from.block; c < end; c += from.block) {
    std::uint64_t const w = std::min(from.block, from.columns - c), low = std::max(c, begin), high = std::min(c + w, end);
    float const* at = from.data.data() + n_ * c + first * w;
    rows_out const part{to.data + (low - begin), to.stride};
    if (!from.near) told_->rows_in += count * w * sizeof(float);
    if (!from.near && x_.where().kind != device_kind::cpu) {
      if (low == c && high == c + w && to.stride == w) {
        by.copy(part.data, at, count * w * sizeof(float));
        continue;
      }
      float* const whole = room(by, bringing_, plan_.chunk * from.columns, "rows that come from host memory");
      by.copy(whole, at, count * w * sizeof(float));
      at = whole;
    }
    drop_rows(by, rows_in{at + (low - c), w}, part, count, high - low, {});
  }
}

void layered_inference::bring_sources(executor& by, std::uint64_t first, std::uint64_t count, float* to) {
  if (from_table_) {
    take_rows(by, features_, o_.scaling, first, count, to, &taking_);
    told_->rows_in += static_cast<std::uint64_t>(row_bytes_ * static_cast<double>(count));
  } else {
    bring(by, 0, width_, source_, first, count, {to, width_});
  }
}

void layered_inference::each_rows(row_user const& use) {
  bool const here = !from_table_ && source_.near;
  std::uint64_t k = 0;
  for (std::uint64_t first = 0; first < n_; first += plan_.chunk, ++k) {
    check_interrupted();
    std::uint64_t const count = std::min(plan_.chunk, n_ - first);
    if (here) {
      use(first, count, {source_.data.data() + first * width_, width_});
      continue;
    }
    leased<buffer<float>>& to = staged_[k % 2];
    bring_sources(far_, first, count, room(far_, to.fill(far_), plan_.chunk * width_, "rows that come from host memory"));
    lease<buffer<float>*> came = to.filled(far_);
    use(first, count, {came.use(x_)->data(), width_});
  }
}

void layered_inference::each_targets(std::uint32_t layer, target_user const& use) {
  whole_graph::lists const& lists = g_.pulled();
  // Scores leave while the next ones are computed, so there is more than one chunk of them.
  std::uint64_t const most = layer + 1 < o_.layers
                                 ? plan_.chunk
                                 : std::min(plan_.chunk, std::max<std::uint64_t>(1, scores_at_once / (o_.classes * sizeof(float))));
  for (std::uint64_t first = 0, count = 0; first < n_; first += count) {
    check_interrupted();
    count = std::min(most, n_ - first);
    if (!plan_.lists_near) {
      std::uint64_t const* const begin = lists.offsets + first;
      auto const fit = static_cast<std::uint64_t>(std::upper_bound(begin, begin + count + 1, *begin + plan_.part_edges) - begin) - 1;
      count = std::clamp<std::uint64_t>(fit, 1, count);
      edges_.take_part(x_, lists, first, count, n_);
      told_->lists += (count + 1) * 8 + (begin[count] - begin[0]) * (lists.weights ? 8 : 4);
    }
    use(first, count);
  }
}

void layered_inference::finish(std::uint32_t l, network<float>::pass const& p, std::uint64_t first, std::uint64_t count,
                               taker const& take) {
  rows_in in{};
  if (o_.residual) {
    stored const& from = before_.columns ? before_ : source_;
    if (from.near) {
      in = {from.data.data() + first * o_.hidden, o_.hidden};
    } else {
      rows_out const to{room(x_, residual_, plan_.chunk * o_.hidden, "rows that go round a layer"), o_.hidden};
      bring(x_, 0, o_.hidden, from, first, count, to);
      in = {to.data, to.stride};
    }
  }
  rows_out const out = net_.finish(x_, p, l, 0, in, count);
  if (l + 1 < o_.layers) {
    give(l + 1, {out.data, out.stride}, first, count);
    return;
  }
  rows_out const scores = o_.residual ? net_.scores_of(x_, p, {out.data, out.stride}, count) : out;
  take(first, count, {scores.data, scores.stride});
}

void layered_inference::layer(std::uint32_t l, network<float>::pass const& p, taker const& take, inference_report::layer& told) {
  layer_plan const& plan = plan_.layers[l];
  network<float>::first_matrix const matrix = net_.first_of(l, 0);
  std::uint64_t const in = net_.width(l, 0), out = matrix.out;
  bool const gin = o_.kind == model_kind::gin;
  blas& products = *p.products;
  auto const multiply = [&](std::uint64_t count, std::uint64_t columns, rows_in rows, float const* by, bool add, rows_out to) {
    products.product(false, true, count, out, columns, 1.f, rows.data, rows.stride, by, matrix.stride, add ? 1.f : 0.f, to.data, to.stride);
  };
  auto const row = [](rows_in rows, std::uint64_t i) { return rows_in{rows.row(i), rows.stride}; };
  auto begun = steady::now();
  auto const lap = [&](double& ms) {
    x_.wait(), far_.wait(), out_.wait();
    ms += ms_since(begun);
    begun = steady::now();
  };
  width_ = in;
  if (plan.relaid) {
    next_source_ = make(in, plan.columns, false);
    each_rows([&](std::uint64_t first, std::uint64_t count, rows_in rows) { put(next_source_, rows, first, count); });
    lap(told.rows_ms);
    source_ = std::move(next_source_), next_source_ = {};
    from_table_ = false;
  }
  if (l + 1 < o_.layers) make_next(l + 1, plan.out_near);
  switch (plan.strategy) {
    case layer_way::rows: {
      stored all;
      rows_in rows{source_.data.data(), in};
      if (from_table_ || !source_.near) {
        all = make(in, in, true);
        rows.data = all.data.data();
        for (std::uint64_t first = 0; first < n_; first += plan_.chunk) {
          check_interrupted();
          bring_sources(far_, first, std::min(plan_.chunk, n_ - first), all.data.data() + first * in);
        }
        lap(told.rows_ms);
        if (!from_table_) {
          if (before_.columns == 0) std::swap(source_, all);  // rows that all steps of the layer use are on the device now
          spare_.push_back(std::move(before_.columns == 0 ? all.data : source_.data));
        }
      }
      each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
        rows_out const to = net_.first_room(x_, l, 0, count), taken{room(x_, taken_, plan_.chunk * in, "aggregated rows"), in};
        edges_.forward(x_, rows, taken, count, in, gin ? row(rows, first) : rows_in{}, first);
        multiply(count, in, {taken.data, in}, matrix.aggregated, false, to);
        if (matrix.own) multiply(count, in, row(rows, first), matrix.own, true, to);
        finish(l, p, first, count, take);
      });
      lap(told.targets_ms);
      break;
    }
    case layer_way::products: {
      buffer<float> made(x_.near(), n_ * out, x_.device(), "products of rows"), own;
      if (plan.own_near) own = buffer<float>(x_.near(), n_ * out, x_.device(), "products of rows");
      each_rows([&](std::uint64_t first, std::uint64_t count, rows_in rows) {
        multiply(count, in, rows, matrix.aggregated, false, {made.data() + first * out, out});
        if (plan.own_near) multiply(count, in, rows, matrix.own, false, {own.data() + first * out, out});
      });
      lap(told.rows_ms);
      rows_in const all{made.data(), out};
      each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
        rows_out const to = net_.first_room(x_, l, 0, count);
        rows_in const self = gin ? row(all, first) : plan.own_near ? row({own.data(), out}, first) : rows_in{};
        edges_.forward(x_, all, to, count, out, self, first);
        if (matrix.own && !plan.own_near) {
          rows_in rows{nullptr, in};
          if (from_table_ || !source_.near) {
            float* const brought = room(x_, own_, plan_.chunk * in, "rows of targets");
            bring_sources(x_, first, count, brought);
            rows.data = brought;
          } else {
            rows.data = source_.data.data() + first * in;
          }
          multiply(count, in, rows, matrix.own, true, to);
        }
        finish(l, p, first, count, take);
      });
      lap(told.targets_ms);
      break;
    }
    case layer_way::columns:
    case layer_way::far_sums: {
      bool const far = plan.strategy == layer_way::far_sums;
      stored sums = make(out, out, !far);
      for (std::uint64_t c = 0; c < in; c += plan.columns) {
        std::uint64_t const w = std::min(plan.columns, in - c);
        bool const last = c + w == in;
        stored block = make(w, w, true);
        for (std::uint64_t first = 0; first < n_; first += plan_.chunk) {
          check_interrupted();
          bring(far_, c, c + w, source_, first, std::min(plan_.chunk, n_ - first), {block.data.data() + first * w, w});
        }
        lap(told.rows_ms);
        rows_in const rows{block.data.data(), w};
        each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
          rows_out const taken{room(x_, taken_, plan_.chunk * w, "aggregated rows"), w};
          edges_.forward(x_, rows, taken, count, w, gin ? row(rows, first) : rows_in{}, first);
          float* const kept = sums.data.data() + first * out;
          std::uint64_t const bytes = count * out * sizeof(float);
          rows_out const at = far ? net_.first_room(x_, l, 0, count) : rows_out{kept, out};
          if (far && c > 0) x_.copy(at.data, kept, bytes), told.rows_in += bytes;
          multiply(count, w, {taken.data, w}, matrix.aggregated + c, c > 0, at);
          if (matrix.own) multiply(count, w, row(rows, first), matrix.own + c, true, at);
          if (!last) {
            if (far) x_.copy(kept, at.data, bytes), told.rows_out += bytes;
            return;
          }
          if (!far) drop_rows(x_, rows_in{kept, out}, net_.first_room(x_, l, 0, count), count, out, {});
          finish(l, p, first, count, take);
        });
        lap(told.targets_ms);
      }
      if (far) spare_.push_back(std::move(sums.data));
      break;
    }
  }
}

void layered_inference::wait_all() {
  for (executor* e : {&x_, &far_, &out_}) try {
      e->wait();
    } catch (...) {  // another error is reported
    }
}

void layered_inference::run_layers(blas& products, taker const& take, inference_report& report) {
  network<float>::pass p;
  p.products = &products;
  report = planned();
  for (auto& l : report.layers) l.rows_in = l.rows_out = l.lists = 0;
  auto begun = steady::now();
  if (plan_.lists_near) edges_.take_part(x_, g_.pulled(), 0, n_, n_);
  buffer<float> degrees;
  if (how_ != aggregation::sum) degrees = garner::bring(x_, g_.degrees(), "degrees");
  edges_.normalise_whole(x_, how_, degrees.data(), n_);
  x_.wait();
  degrees = {};
  report.prepare_ms = ms_since(begun);
  from_table_ = true;
  source_ = {}, before_ = {};
  progress bar("inference by layers", o_.layers);
  std::size_t k = 0;
  if (o_.residual) {
    inference_report::layer& told = report.layers[k++];
    told_ = &told;
    begun = steady::now();
    width_ = o_.inputs;
    make_next(0, plan_.encoded_near);
    each_rows([&](std::uint64_t first, std::uint64_t count, rows_in rows) { give(0, net_.encode(x_, p, 0, rows, count), first, count); });
    x_.wait(), far_.wait(), out_.wait();
    told.ms = told.rows_ms = ms_since(begun);
  }
  for (std::uint32_t l = 0; l < o_.layers; ++l, ++k) {
    if (next_source_.columns) {
      for (stored* s : {&source_, &before_})
        if (s->columns && !s->near && !s->data.empty()) spare_.push_back(std::move(s->data));
      source_ = std::move(next_source_), before_ = std::move(next_before_);
      next_source_ = {}, next_before_ = {};
      from_table_ = false;
    }
    inference_report::layer& told = report.layers[k];
    told_ = &told;
    begun = steady::now();
    layer(l, p, take, told);
    told.ms = ms_since(begun);
    bar.advance(1);
  }
  report.ms = report.prepare_ms;
  for (auto const& l : report.layers) report.ms += l.ms;
}

inference_report layered_inference::run(blas& products, taker const& take) {
  inference_report report;
  try {
    run_layers(products, take, report);
  } catch (...) {
    wait_all();  // before what they copy goes
    throw;
  }
  return report;
}

}  // namespace garner
