#include "nn/infer.hpp"

#include <chrono>
#include <cstring>
#include <numeric>

#include "core/fail.hpp"
#include "core/lease.hpp"
#include "core/thread_pool.hpp"
#include "graph/handle.hpp"
#include "nn/layered.hpp"

namespace garner {

void require_numbers(executor& x, float const* rows, std::uint64_t count, std::uint64_t width,
                     std::function<std::uint64_t(std::uint64_t)> const& position, buffer<std::uint64_t>* in) {
  if (std::uint64_t const bad = first_bad(x, rows, count * width, in); bad != ~std::uint64_t{0})
    fail(errc::input, "element {} of row {} of the features is not a finite number; mend the table, or replace such numbers by 0",
         bad % width, position(bad / width));
}
void take_rows(executor& x, tiered_tensor& features, row_scaling scaling, std::uint64_t first, std::uint64_t count, float* to,
               take_room* kept, std::int64_t const* which) {
  constexpr std::uint64_t most = 1u << 20;
  take_room own;
  take_room& in = kept ? *kept : own;
  std::int64_t* const ids = room(x, in.ids, std::min(count, most), "ids of rows");
  std::vector<std::int64_t> here(std::min(count, most));
  gather_options o;
  if (features.kind() != element::f32) o.to = element::f32;
  o.order = gather_order::none, o.duplicates = gather_duplicates::repeat;  // ids are distinct, and mostly ascend
  std::uint64_t const width = features.width();
  for (std::uint64_t at = 0; at < count; at += most) {
    std::uint64_t const n = std::min(most, count - at);
    if (which) std::copy_n(which + at, n, here.begin());
    else std::iota(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(n), static_cast<std::int64_t>(first + at));
    x.copy(ids, here.data(), n * sizeof(std::int64_t));
    x.wait();
    features.gather({ids, n, 8}, {to + at * width, n * width * sizeof(float)}, o);
  }
  require_numbers(
      x, to, count, width, [&](std::uint64_t row) { return which ? static_cast<std::uint64_t>(which[row]) : first + row; }, &in.bad);
  scale_rows(x, row_block<float>{to, width}, count, width, scaling);
}

exact_inference::exact_inference(executor& x, whole_graph const& g, aggregation how) : x_(x), vertices_(g.vertices()), edges_(1) {
  edges_[0].take(x, g.pulled(), g.given(), vertices_);
  if (how == aggregation::gcn) {
    counts_ = bring(x, g.counts(), "degrees");
    degrees_ = bring(x, g.degrees(), "degrees");
  }
  edges_[0].normalise(x, how, degrees_.data(), counts_.data(), nullptr);
}

network<float>::pass exact_inference::pass_of(network<float>& net, row_scaling scaling, tiered_tensor& features, blas& products) {
  if (!have_rows_) {
    rows_ = buffer<float>(x_.near(), vertices_ * features.width(), x_.device(), "rows of a whole graph");
    take_rows(x_, features, scaling, 0, vertices_, rows_.data());
    have_rows_ = true;
  }
  network<float>::pass p;
  p.products = &products, p.edges = &edges_;
  p.rows.assign(net.shape().layers + 1, {vertices_});
  p.inputs = {{rows_.data(), features.width()}};
  return p;
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

inference_report infer(gnn_model& model, graph_handle const& g, tiered_tensor& features, std::span<float> scores,
                       inference_options const& options) {
  return as_error([&] {
    gnn_model::parts& inside = model.inside();
    executor& x = inside.x;
    model_options const& o = inside.options;
    std::uint64_t const n = g.info().vertices;
    require_table(inside, features, g);
    if (scores.size() < n * o.classes)
      fail(errc::usage, "room for {} scores, and {} vertices have {} each; make it larger", scores.size(), n, o.classes);
    blas products(x, options.math);
    whole_graph const lists(g, options.side, options.weighted, false);
    layered_inference all(x, lists, o, inside.net, features, options.memory_limit);
    rows_out_of_device out(x, scores.data(), o.classes);
    inference_report report = all.run(
        products, [&](std::uint64_t first, std::uint64_t count, row_block<float const> found) { out.take(first, count, found.data); });
    auto const done = std::chrono::steady_clock::now();
    out.finish();
    double const rest = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - done).count();
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
    return layered_inference(x, lists, o, inside.net, features, options.memory_limit).planned();
  });
}

}  // namespace garner
