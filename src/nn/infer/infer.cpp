#include "nn/infer/infer.hpp"

#include <cstring>

#include "core/clock.hpp"
#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/lease.hpp"
#include "core/thread_pool.hpp"
#include "graph/handle.hpp"
#include "memory/budget.hpp"
#include "nn/infer/one_type.hpp"
#include "nn/infer/types.hpp"
#include "nn/infer/whole.hpp"

namespace garner {

std::uint64_t free_near(executor const& x) {
  std::uint64_t const there = x.on_device() ? device::memory(x.device()).free_bytes : host_memory_now().free() / 2;
  return std::min((x.on_device() ? device_budget(x.device()) : host_budget()).left(), there - there / 16);
}

std::uint64_t inference_report::bytes() const {
  std::uint64_t sum = lists;
  for (layer const& l : layers) sum += l.rows_in + l.rows_out + l.lists;
  return sum;
}
std::optional<double> inference_report::floor_ms() const {
  if (!link_gbs) return std::nullopt;
  return static_cast<double>(floor_bytes) / *link_gbs / 1e6;
}

void require_types(gnn_model::parts const& m, hetero_graph const& g, std::span<tiered_tensor* const> features, edge_direction side) {
  model_types const wanted = types_in(m.net.shape());
  if (wanted.names.empty()) fail(errc::usage, "{}: several types, and the model is of one; make it with the types of the graph", g.name());
  model_types const there = types_of(g, std::min<std::size_t>(wanted.target, g.types().size() - 1), features, side);
  for (std::size_t t = 0; t < std::max(wanted.names.size(), there.names.size()); ++t) {
    auto const name = [&](model_types const& of) { return t < of.names.size() ? "'" + of.names[t] + "'" : "none"; };
    if (name(wanted) != name(there))
      fail(errc::input, "{}: type {} is {}, and the model was made for {}; give it the graph that it was made for", g.name(), t,
           name(there), name(wanted));
    require_table(m, *features[t], g.types()[t].count, wanted.inputs[t], g.name(), there.names[t]);
  }
  if (wanted.relations != there.relations)
    fail(errc::input, "{}: its {} relations, {}, are not the {} that the model was made for, in their order and side", g.name(),
         there.relations.size(), side == edge_direction::in ? "pulled by `to`" : "pulled by `from` (side out)", wanted.relations.size());
}

namespace {
// Copies rows to the caller's memory through two pinned buffers and host threads, since a device is slow at copying there.
// The next chunk is computed meanwhile: results are staged on the device, and sent when the next chunk has been submitted.
class rows_out_of_device {
 public:
  rows_out_of_device(executor& x, float* to, std::uint64_t columns) : x_(x), out_(x, executor::urgent{}), to_(to), columns_(columns) {}
  void take(std::uint64_t first, std::uint64_t count, float const* rows) {
    std::uint64_t const row_bytes = columns_ * sizeof(float);
    if (!x_.asynchronous()) return x_.copy(to_ + first * columns_, rows, count * row_bytes);
    aside& next = asides_[turn_ ^= 1];  // the previous take() sent its contents
    x_.copy(room(x_, next.rows.fill(x_), count * columns_, "scores set aside"), rows, count * row_bytes);
    next.first = first, next.count = count;
    next.there = next.rows.filled(x_);
    send(asides_[turn_ ^ 1]);
  }
  void finish() {
    send(asides_[turn_ ^ 1]), send(asides_[turn_]);
    for (part& p : parts_) bring(p);
  }

 private:
  static constexpr std::uint64_t buffer_bytes = 32u << 20;
  struct aside {
    leased<buffer<float>> rows;  // x_ writes, out_ reads
    lease<buffer<float>*> there;
    std::uint64_t first = 0, count = 0;
  };
  struct part {
    leased<memory_block> room;  // out_ writes, the host reads
    lease<memory_block*> come;
    std::uint64_t first = 0, count = 0;
  };
  void send(aside& from) {
    std::uint64_t const row_bytes = columns_ * sizeof(float), each = std::max<std::uint64_t>(1, buffer_bytes / row_bytes);
    if (!from.there) return;
    float const* const rows = from.there.use(out_)->data();
    for (std::uint64_t k = 0; k < from.count; k += each) {
      part& p = parts_[part_ ^= 1];
      bring(p);
      memory_block& to = p.room.fill(out_);
      if (to.bytes() == 0) to = memory_block(tier::host, each * row_bytes, x_.device(), "scores on their way");
      p.first = from.first + k, p.count = std::min(each, from.count - k);
      out_.copy(to.data(), rows + k * columns_, p.count * row_bytes);
      p.come = p.room.filled(out_);
    }
    from.there.end();
  }
  void bring(part& p) {
    if (!p.come) return;
    auto const* const from = static_cast<char const*>(p.come.use()->data());
    char* const to = reinterpret_cast<char*>(to_ + p.first * columns_);
    shared_pool().run(p.count * columns_ * sizeof(float), 1u << 20,
                      [&](std::uint64_t begin, std::uint64_t end) { std::memcpy(to + begin, from + begin, end - begin); });
    p.come.end();
  }

  executor &x_, out_;
  float* to_;
  std::uint64_t columns_;
  aside asides_[2];
  part parts_[2];
  unsigned turn_ = 0, part_ = 0;
  wait_at_end settled_{x_}, all_sent_{out_};
};
}  // namespace

namespace {
types_sizes sizes_of(hetero_graph const& g, bool weighted) {
  types_sizes s;
  for (vertex_type const& t : g.types()) s.vertices.push_back(t.count);
  for (std::size_t r = 0; r < g.edges().size(); ++r) {
    graph_info const& i = g.adjacency(r).info();
    s.relations.push_back({i.vertices, i.edges, i.edges});
  }
  s.weighted = weighted;
  return s;
}
}  // namespace

inference_report infer_types(executor& x, hetero_graph const& g, network<float>& net, row_scaling scaling,
                             std::span<tiered_tensor* const> features, edge_direction side, bool weighted,
                             std::optional<std::uint64_t> near, blas& products, score_taker const& take,
                             score_taker const& take_embeddings) {
  std::uint64_t const allowed = near.value_or(free_near(x)),
                      whole = whole_pass::bytes_for(x.on_device(), sizes_of(g, weighted), net.shape());
  if (whole > allowed) {
    types_in_parts parts(x, g, net, scaling, features, side, weighted, allowed);
    parts.also_take(take_embeddings);
    return parts.run(products, take);
  }
  auto const begun = steady::now();
  whole_pass all(x, g, side, weighted, false);
  network<float>::pass p = all.of(net, scaling, features, products);
  if (take_embeddings)
    p.watch = [&](char const*, std::uint32_t l, std::uint32_t t, std::uint64_t first, row_block<float const> rows, std::uint64_t count,
                  std::uint64_t) {
      if (net.shape().gives_embeddings(l, t)) take_embeddings(first, count, rows);
    };
  row_block<float> const scores = net.forward(x, p);
  x.wait();
  take(0, g.types()[net.shape().target].count, {scores.data, scores.stride});
  inference_report report;
  report.device_bytes = whole;
  report.ms = ms_since(begun);
  return report;
}

namespace {
void require_room(model_options const& o, std::uint64_t n, std::span<float> scores, std::span<float> embeddings) {
  if (scores.size() < n * o.classes)
    fail(errc::usage, "room for {} scores, and {} vertices have {} each; make it larger", scores.size(), n, o.classes);
  if (embeddings.empty()) return;
  if (o.layers == 1 && !o.residual)
    fail(errc::usage, "embeddings: this model is one layer, from features to classes, and has none; use a model of two layers or more");
  if (embeddings.size() < n * o.hidden)
    fail(errc::usage, "room for {} elements of embeddings, and {} vertices have {} each; make it larger", embeddings.size(), n, o.hidden);
}
}  // namespace

inference_report infer(gnn_model& model, graph_handle const& g, tiered_tensor& features, std::span<float> scores,
                       inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& inside = model.inside();
    executor& x = inside.x;
    model_options const& o = inside.options;
    std::uint64_t const n = g.info().vertices;
    require_table(inside, features, g);
    require_room(o, n, scores, options.embeddings);
    blas products(x, options.math);
    whole_graph const lists(g, options.side, options.weighted, false);
    bool const also = !options.embeddings.empty();
    layered_inference all(x, lists, o, inside.net, features, options.memory_limit, also);
    rows_out_of_device out(x, scores.data(), o.classes);
    std::optional<rows_out_of_device> embeddings;
    if (also) {
      embeddings.emplace(x, options.embeddings.data(), o.hidden);
      all.also_take(
          [&](std::uint64_t first, std::uint64_t count, row_block<float const> rows) { embeddings->take(first, count, rows.data); });
    }
    inference_report report = all.run(
        products, [&](std::uint64_t first, std::uint64_t count, row_block<float const> found) { out.take(first, count, found.data); });
    auto const done = steady::now();
    out.finish();
    if (also) embeddings->finish();
    double const rest = ms_since(done);
    report.ms += rest, report.layers.back().ms += rest, report.layers.back().targets_ms += rest;
    return report;
  });
}

inference_report plan_inference(gnn_model& model, graph_handle const& g, tiered_tensor& features, inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& inside = model.inside();
    executor& x = inside.x;
    model_options const& o = inside.options;
    require_table(inside, features, g);
    whole_graph const lists(g, options.side, options.weighted, false);
    return layered_inference(x, lists, o, inside.net, features, options.memory_limit, !options.embeddings.empty()).planned();
  });
}
inference_report infer(gnn_model& model, hetero_graph const& g, std::vector<tiered_tensor*> const& features, std::span<float> scores,
                       inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& m = model.inside();
    require_types(m, g, features, options.side);
    std::uint64_t const n = g.types()[m.net.shape().target].count;
    require_room(m.options, n, scores, options.embeddings);
    auto const taken_to = [&](std::span<float> to, std::uint64_t columns) -> score_taker {
      return [&x = m.x, to, columns](std::uint64_t first, std::uint64_t count, row_block<float const> found) {
        x.copy(to.data() + first * columns, found.data, count * columns * sizeof(float));
        x.wait();
      };
    };
    blas products(m.x, options.math);
    return infer_types(m.x, g, m.net, m.options.scaling, features, options.side, options.weighted, options.memory_limit, products,
                       taken_to(scores, m.options.classes),
                       options.embeddings.empty() ? score_taker{} : taken_to(options.embeddings, m.options.hidden));
  });
}

}  // namespace garner
