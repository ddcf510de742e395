#include "nn/infer/one_type.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/progress.hpp"
#include "nn/pointwise.hpp"

namespace garner {

namespace {

constexpr std::uint64_t scores_at_once = 256u << 20;  // bytes

}  // namespace

layered_inference::layered_inference(executor& x, whole_graph const& g, model_options const& o, network<float>& net,
                                     tiered_tensor& features, std::optional<std::uint64_t> near, bool embeddings)
    : inference_by_layers(x, net, o.scaling, {&features}, {g.vertices()}), g_(g), o_(o), n_(g.vertices()), how_(aggregation_of(o.kind)) {
  inference_sizes s;
  s.model = o, s.embeddings = embeddings, s.vertices = n_, s.edges = g.pulled().offsets[n_], s.weighted = g.pulled().weights != nullptr;
  for (std::uint64_t v = 0; v < n_; ++v) {
    std::uint64_t const length = g.pulled().offsets[v + 1] - g.pulled().offsets[v];
    s.longest = std::max(s.longest, length);
    if (length > slice_edges) s.slices += length / slice_edges + 1;
  }
  s.far_row_bytes = static_cast<double>(features.row_bytes()) * static_cast<double>(features.tiers()[tier::host]) /
                    static_cast<double>(std::max<std::uint64_t>(features.rows(), 1));
  plan_ = plan_layers(s, near.value_or(free_near(x)));
  chunk_ = plan_.chunk, part_edges_ = plan_.part_edges;
  row_bytes_ = {s.far_row_bytes};
  if (o.residual) {
    std::string const how = plan_.encoded_near ? "the product before the layers; it stays local" : "the product before the layers";
    planned_.layers.push_back({how, plan_.encode_in, plan_.encode_out, 0, 0, 0, 0});
  }
  for (layer_plan const& l : plan_.layers) planned_.layers.push_back({l.about(), l.bytes_in, l.bytes_out, l.list_bytes, 0, 0, 0});
  planned_.device_bytes = plan_.near_bytes;
  if (plan_.lists_near) planned_.lists = (n_ + 1) * 8 + s.edges * (s.weighted ? 8 : 4);
  plan_floor({s.far_row_bytes * static_cast<double>(n_)});
}

void layered_inference::prepare() {
  if (plan_.lists_near) edges_.take_part(x_, g_.pulled(), 0, n_, n_);
  buffer<float> degrees;
  if (how_ != aggregation::sum) degrees = garner::bring(x_, g_.degrees(), "degrees");
  edges_.normalise_whole(x_, how_, degrees.data(), n_);
  x_.wait();
}

void layered_inference::make_next(std::uint32_t l) {
  layer_plan const& p = plan_.layers[l];
  bool const some = p.strategy == layer_way::columns || p.strategy == layer_way::far_sums;
  make_stores(l, 0, some ? p.columns : net_.width(l, 0), l ? plan_.layers[l - 1].out_near : plan_.encoded_near);
}

void layered_inference::each_targets(std::uint32_t layer, part_user const& use) {
  // Scores leave while the next ones are computed, so there is more than one chunk of them.
  std::uint64_t const most =
      layer + 1 < o_.layers ? chunk_ : std::min(chunk_, std::max<std::uint64_t>(1, scores_at_once / (o_.classes * sizeof(float))));
  each_part(g_, n_, most, plan_.lists_near, use);
}

void layered_inference::finish(std::uint32_t l, pass const& p, std::uint64_t first, std::uint64_t count, score_taker const& take) {
  rows_in in{};
  if (o_.residual) {
    store const& from = rows_[0].before.columns ? rows_[0].before : rows_[0].source;
    if (from.near) {
      in = {from.at(first), o_.hidden};
    } else {
      rows_out const to{room(x_, residual_, chunk_ * o_.hidden, "rows that go round a layer"), o_.hidden};
      bring(x_, 0, o_.hidden, from, first, count, to);
      in = {to.data, to.stride};
    }
  }
  rows_out const out = net_.finish(x_, p, l, 0, in, count);
  tell_embeddings(l, 0, out, first, count);
  if (l + 1 < o_.layers) {
    give(l + 1, 0, {out.data, out.stride}, first, count);
    return;
  }
  rows_out const scores = o_.residual ? net_.scores_of(x_, p, {out.data, out.stride}, count) : out;
  take(first, count, {scores.data, scores.stride});
}

void layered_inference::layer(std::uint32_t l, pass const& p, score_taker const& take) {
  layer_plan const& plan = plan_.layers[l];
  network<float>::first_matrix const matrix = net_.first_of(l, 0);
  std::uint64_t const in = net_.width(l, 0), out = matrix.out;
  bool const gin = o_.kind == model_kind::gin;
  store &source = rows_[0].source, &before = rows_[0].before;
  auto const multiply = [&](std::uint64_t count, std::uint64_t columns, rows_in rows, float const* by, bool add, rows_out to) {
    inference_by_layers::multiply(p, matrix, by, rows, count, columns, add, to);
  };
  auto const row = [](rows_in rows, std::uint64_t i) { return rows_in{rows.row(i), rows.stride}; };
  auto begun = steady::now();
  auto const rows_came = [&] {
    wait_all();
    told_->rows_ms += ms_since(begun);
  };
  auto const each_chunk_of_rows = [&](auto const& come) {
    for (std::uint64_t first = 0; first < n_; first += chunk_) {
      check_interrupted();
      come(first, std::min(chunk_, n_ - first));
    }
    rows_came();
  };
  if (plan.relaid) lay_out(0, plan.columns);
  if (l + 1 < o_.layers) make_next(l + 1);
  switch (plan.strategy) {
    case layer_way::rows: {
      store all;
      rows_in rows{source.data.data(), in};
      if (!source.near) {
        all = make(0, in, in, true);
        rows.data = all.data.data();
        each_chunk_of_rows([&](std::uint64_t first, std::uint64_t count) { bring_rows(far_, 0, source, first, count, all.at(first)); });
        if (source.columns) {
          if (before.columns == 0) std::swap(source, all);  // rows that all steps of the layer use are on the device now
          spare_.push_back(std::move(before.columns == 0 ? all.data : source.data));
        }
      }
      each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
        rows_out const to = net_.first_room(x_, l, 0, count), taken{room(x_, taken_, chunk_ * in, "aggregated rows"), in};
        edges_.forward(x_, rows, taken, count, in, gin ? row(rows, first) : rows_in{}, first);
        multiply(count, in, {taken.data, in}, matrix.aggregated, false, to);
        if (matrix.own) multiply(count, in, row(rows, first), matrix.own, true, to);
        finish(l, p, first, count, take);
      });
      wait_all();
      break;
    }
    case layer_way::products: {
      buffer<float> made(x_.near(), n_ * out, x_.device(), "products of rows"), own;
      if (plan.own_near) own = buffer<float>(x_.near(), n_ * out, x_.device(), "products of rows");
      each_rows(0, [&](std::uint64_t first, std::uint64_t count, rows_in rows) {
        multiply(count, in, rows, matrix.aggregated, false, {made.data() + first * out, out});
        if (plan.own_near) multiply(count, in, rows, matrix.own, false, {own.data() + first * out, out});
      });
      rows_came();
      rows_in const all{made.data(), out};
      each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
        rows_out const to = net_.first_room(x_, l, 0, count);
        rows_in const self = gin ? row(all, first) : plan.own_near ? row({own.data(), out}, first) : rows_in{};
        edges_.forward(x_, all, to, count, out, self, first);
        if (matrix.own && !plan.own_near) {
          rows_in rows{source.at(first), in};
          if (!source.near) {
            float* const brought = room(x_, own_, chunk_ * in, "rows of targets");
            bring_rows(x_, 0, source, first, count, brought);
            rows.data = brought;
          }
          multiply(count, in, rows, matrix.own, true, to);
        }
        finish(l, p, first, count, take);
      });
      wait_all();
      break;
    }
    case layer_way::columns:
    case layer_way::far_sums: {
      bool const far = plan.strategy == layer_way::far_sums;
      store sums = make(0, out, out, !far);
      for (std::uint64_t c = 0; c < in; c += plan.columns) {
        std::uint64_t const w = std::min(plan.columns, in - c);
        bool const last = c + w == in;
        store block = make(0, w, w, true);
        each_chunk_of_rows([&](std::uint64_t first, std::uint64_t count) {
          bring(far_, c, c + w, source, first, count, {block.at(first), w});
        });
        rows_in const rows{block.data.data(), w};
        each_targets(l, [&](std::uint64_t first, std::uint64_t count) {
          rows_out const taken{room(x_, taken_, chunk_ * w, "aggregated rows"), w};
          edges_.forward(x_, rows, taken, count, w, gin ? row(rows, first) : rows_in{}, first);
          float* const kept = sums.at(first);
          std::uint64_t const bytes = count * out * sizeof(float);
          rows_out const at = far ? net_.first_room(x_, l, 0, count) : rows_out{kept, out};
          if (far && c > 0) x_.copy(at.data, kept, bytes), told_->rows_in += bytes;
          multiply(count, w, {taken.data, w}, matrix.aggregated + c, c > 0, at);
          if (matrix.own) multiply(count, w, row(rows, first), matrix.own + c, true, at);
          if (!last) {
            if (far) x_.copy(kept, at.data, bytes), told_->rows_out += bytes;
            return;
          }
          if (!far) drop_rows(x_, rows_in{kept, out}, net_.first_room(x_, l, 0, count), count, out, {});
          finish(l, p, first, count, take);
        });
        wait_all();
        begun = steady::now();
      }
      if (far) spare_.push_back(std::move(sums.data));
      break;
    }
  }
}

}  // namespace garner
