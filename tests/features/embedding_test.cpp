// Trainable rows: every optimizer against a serial reference in double, the same bits in all tiers, files, and rejected input.
#include "garner/embedding.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include "core/convert.hpp"
#include "core/progress.hpp"
#include "far/traffic.hpp"
#include "features/embedding.hpp"
#include "memory/budget.hpp"
#include "support.hpp"

namespace garner::testing {
namespace {

std::vector<float> all_of(embedding const& e, std::string const& what = "weight") {
  std::vector<float> values(e.rows() * e.width());
  e.read(what, 0, e.rows(), values);
  return values;
}

// The optimizers in plain double arithmetic, from the papers and torch's documentation.
struct twin {
  row_optimizer how;
  std::uint64_t width;
  std::vector<double> w, a, b;
  double steps = 0;
  twin(embedding const& e) : how(e.optimizer()), width(e.width()) {
    auto const first = all_of(e);
    w.assign(first.begin(), first.end());
    a.assign(w.size(), 0), b.assign(w.size(), 0);
  }
  void step(std::vector<std::int64_t> const& ids, std::vector<float> const& gradients, sparse_step const& o) {
    ++steps;
    std::map<std::int64_t, std::vector<double>> by_row;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      auto& sum = by_row[ids[k]];
      sum.resize(width);
      for (std::uint64_t c = 0; c < width; ++c) sum[c] += gradients[k * width + c];
    }
    for (auto const& [id, g] : by_row)
      for (std::uint64_t c = 0; c < width; ++c) {
        std::size_t const i = static_cast<std::size_t>(id) * width + c;
        if (how == row_optimizer::sgd) w[i] -= o.learning_rate * g[c];
        if (how == row_optimizer::adagrad) {
          a[i] += g[c] * g[c];
          w[i] -= o.learning_rate / (1 + (steps - 1) * o.rate_decay) * g[c] / (std::sqrt(a[i]) + o.epsilon.value_or(1e-10));
        }
        if (how == row_optimizer::adam) {
          a[i] = o.beta1 * a[i] + (1 - o.beta1) * g[c], b[i] = o.beta2 * b[i] + (1 - o.beta2) * g[c] * g[c];
          double const root = std::sqrt(1 - std::pow(o.beta2, steps));
          w[i] -= o.learning_rate * root / (1 - std::pow(o.beta1, steps)) * a[i] / (std::sqrt(b[i]) + o.epsilon.value_or(1e-8));
        }
      }
  }
};

struct batch {
  std::vector<std::int64_t> ids;
  std::vector<float> gradients;
};
batch make_batch(std::mt19937& from, std::uint64_t rows, std::uint64_t width, std::size_t n) {
  batch b;
  std::normal_distribution<float> normal;
  for (std::size_t k = 0; k < n; ++k) b.ids.push_back(static_cast<std::int64_t>(from() % 3 ? from() % rows : from() % 3));
  b.gradients.resize(n * width);
  for (float& g : b.gradients) g = normal(from);
  return b;
}
update_run step(executor& x, embedding& e, batch const& b, sparse_step const& o) {
  auto const ids = near_copy(x, b.ids);
  auto const gradients = near_copy(x, b.gradients);
  return e.update(std::span<std::int64_t const>(ids.data(), b.ids.size()), {gradients.data(), b.gradients.size()}, o);
}

class embedding_test : public at_place {
 protected:
  embedding_options options(row_optimizer how, std::optional<std::uint64_t> budget = {}) const {
    embedding_options o;
    o.device = where(), o.optimizer = how, o.seed = 7, o.feature_cache = budget;
    return o;
  }
};
GARNER_AT_EVERY_PLACE(embedding_test);

TEST_P(embedding_test, every_optimiser_steps_as_its_paper_says) {
  executor x(where());
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
    for (std::uint64_t const width : {1, 5, 8, 33, 128}) {
      embedding e(60, width, options(how, 20 * 8 * width));
      twin t(e);
      std::mt19937 from(5);
      sparse_step o;
      o.learning_rate = 0.05, o.rate_decay = 0.1;
      for (int k = 0; k < 8; ++k) {
        batch const b = make_batch(from, 60, width, 40);
        step(x, e, b, o);
        t.step(b.ids, b.gradients, o);
      }
      EXPECT_EQ(e.steps(), 8u);
      auto const found = all_of(e);
      for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], t.w[i], 2e-5) << to_string(how) << " " << width << " " << i;
      if (how != row_optimizer::sgd) {
        auto const state = all_of(e, e.states()[0]);
        for (std::size_t i = 0; i < state.size(); ++i) ASSERT_NEAR(state[i], t.a[i], 1e-4 * (1 + std::abs(t.a[i])));
      }
      if (how == row_optimizer::adam) {
        auto const state = all_of(e, "exp_avg_sq");
        for (std::size_t i = 0; i < state.size(); ++i) ASSERT_NEAR(state[i], t.b[i], 1e-5);
      }
    }
}

TEST_P(embedding_test, the_same_bits_wherever_rows_lie) {
  executor x(where());
  std::vector<float> scores(300);
  std::mt19937 draw(3);
  for (float& s : scores) s = static_cast<float>(draw() % 100);
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam}) {
    std::vector<std::vector<float>> seen;
    for (std::uint64_t const near : {0, 100, 300})
      for (bool const by_score : {false, true}) {
        embedding_options o = options(how);
        embedding const probe(1, 20, o);
        o.feature_cache = near * probe.record_bytes();
        if (by_score) o.scores = scores;
        embedding e(300, 20, o);
        EXPECT_EQ(e.tiers().all(), 300u);
        EXPECT_EQ(e.tiers()[tier::device], where().kind == device_kind::cpu ? 0 : near);
        std::mt19937 from(11);
        for (int k = 0; k < 4; ++k) step(x, e, make_batch(from, 300, 20, 500), {});
        seen.push_back(all_of(e));
        // Gathers return these rows, in any order and repeatedly.
        batch const b = make_batch(from, 300, 20, 700);
        auto const ids = near_copy(x, b.ids);
        buffer<float> out(x.near(), 700 * 20, x.device(), "a test");
        e.gather(std::span<std::int64_t const>(ids.data(), 700), row_output(out.data(), out.bytes()));
        auto const rows = host_copy(x, out.data(), out.size());
        for (std::size_t k = 0; k < 700; ++k)
          for (std::size_t c = 0; c < 20; ++c) ASSERT_EQ(rows[k * 20 + c], seen.back()[static_cast<std::size_t>(b.ids[k]) * 20 + c]);
      }
    for (auto const& s : seen) EXPECT_EQ(s, seen[0]) << to_string(how);
  }
}

TEST_P(embedding_test, first_values_are_of_their_distribution_and_the_same_at_every_place) {
  embedding_options o = options(row_optimizer::sgd);
  o.init_scale = 0.5;
  auto const moments = [](std::vector<float> const& v) {
    double mean = 0, square = 0, fourth = 0;
    for (float f : v) mean += f, square += double{f} * f, fourth += std::pow(double{f}, 4);
    auto const n = static_cast<double>(v.size());
    return std::array{mean / n, square / n, fourth / n / std::pow(square / n, 2)};
  };
  for (initializer const first : {initializer::normal, initializer::uniform, initializer::zero}) {
    o.init = first;
    auto const here = all_of(embedding(5000, 40, o));
    embedding_options at_host = o;
    at_host.device = {device_kind::cpu, 0};
    EXPECT_EQ(here, all_of(embedding(5000, 40, at_host)));
    auto const [mean, square, kurtosis] = moments(here);
    EXPECT_NEAR(mean, 0, 0.005);
    o.seed = 8;
    auto const others = all_of(embedding(5000, 40, o));
    if (first == initializer::normal) {
      EXPECT_NEAR(square, 0.25, 0.003);
      EXPECT_NEAR(kurtosis, 3, 0.05);
    } else if (first == initializer::uniform) {
      EXPECT_NEAR(square, 0.25 / 3, 0.001);
      EXPECT_LE(*std::max_element(here.begin(), here.end()), 0.5f);
    } else {
      EXPECT_EQ(square, 0);
    }
    EXPECT_EQ(here == others, first == initializer::zero);
    o.seed = 7;
  }
}

TEST_P(embedding_test, duplicates_are_added_in_the_order_of_their_positions) {
  executor x(where());
  embedding_options o = options(row_optimizer::sgd);
  o.init = initializer::zero;
  embedding e(10, 3, o);
  batch b;  // large and small ones, whose sum depends on their order
  std::mt19937 from(2);
  for (int k = 0; k < 400; ++k) {
    b.ids.push_back(4);
    for (int c = 0; c < 3; ++c)
      b.gradients.push_back(std::ldexp(static_cast<float>(from() % 1000) - 500.0f, static_cast<int>(from() % 20)));
  }
  sparse_step s;
  s.learning_rate = 1;
  step(x, e, b, s);
  auto const found = all_of(e);
  for (std::size_t c = 0; c < 3; ++c) {
    float sum = b.gradients[c];
    for (std::size_t k = 1; k < 400; ++k) sum += b.gradients[k * 3 + c];
    EXPECT_EQ(found[4 * 3 + c], -sum);
  }
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i] == 0, i / 3 != 4);
}

// The nearest number of 11 (f16) or 8 (bf16) bits, of two the even; by arithmetic, not by bits.
float nearest(float f, element kind) {
  if (kind == element::f32 || f == 0) return f;
  int exponent = 0;
  std::frexp(f, &exponent);
  int const last = kind == element::f16 ? std::max(exponent - 11, -24) : exponent - 8;
  return std::ldexp(std::nearbyint(std::ldexp(f, -last)), last);
}
buffer<char> narrow_copy(executor& x, std::vector<float> const& values, element kind) {
  std::vector<char> bytes(values.size() * bytes_of(kind));
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (kind == element::f32) std::memcpy(bytes.data() + 4 * k, &values[k], 4);
    std::uint16_t const bits = kind == element::f16 ? float_to_half(values[k]) : float_to_brain(values[k]);
    if (kind != element::f32) std::memcpy(bytes.data() + 2 * k, &bits, 2);
  }
  return near_copy(x, bytes);
}
template <class T>
std::vector<float> widened(std::vector<T> const& from, element kind) {
  std::vector<float> all;
  for (T const v : from)
    if constexpr (sizeof(T) == 4) all.push_back(v);
    else all.push_back(kind == element::f16 ? half_to_float(v) : brain_to_float(v));
  return all;
}

// Step by step the same bits as plain float arithmetic that is rounded once: rows and gradients of each kind, rows in each tier, with
// duplicates in a batch.
TEST_P(embedding_test, rows_of_16_bits_are_stepped_in_f32_and_rounded_once) {
  executor x(where());
  // A GPU may fuse a product and a sum, which rounds once: there a row may differ in its last bit.
  auto const expect_same = [&](std::vector<float> const& found, std::vector<float> const& wanted, float bit) {
    if (where().kind != device_kind::cuda) {
      EXPECT_EQ(found, wanted);
      return;
    }
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], bit * (std::abs(wanted[i]) + 0x1p-10f)) << i;
  };
  for (element const kind : {element::f16, element::bf16}) {
    float const last_bit = kind == element::f16 ? 0x1p-9f : 0x1p-6f;
    for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
      for (std::uint64_t const width : {1, 7, 16, 72})
        for (bool const narrow : {false, true}) {
          embedding_options o = options(how);
          o.kind = kind;
          o.feature_cache = 20 * embedding(1, width, o).record_bytes();
          embedding e(60, width, o);
          EXPECT_EQ(e.kind(), kind);
          o.kind = element::f32;
          auto w = all_of(embedding(60, width, o));  // the first values are those of f32, rounded
          for (float& f : w) f = nearest(f, kind);
          ASSERT_EQ(all_of(e), w);
          std::vector<float> a(w.size()), b(w.size());
          std::mt19937 from(5);
          for (int k = 1; k <= 4; ++k) {
            batch const some = make_batch(from, 60, width, 40);
            auto gradients = some.gradients;
            if (narrow)
              for (float& f : gradients) f = nearest(f, kind);
            auto const ids = near_copy(x, some.ids);
            auto const given = narrow_copy(x, gradients, narrow ? kind : element::f32);
            sparse_step s;
            s.learning_rate = 0.125, s.beta1 = 0.75, s.beta2 = 0.5, s.epsilon = 0x1p-20;
            e.update(std::span<std::int64_t const>(ids.data(), some.ids.size()),
                     gradient_span(given.data(), gradients.size(), narrow ? kind : element::f32), s);
            std::map<std::int64_t, std::vector<float>> by_row;
            for (std::size_t i = 0; i < some.ids.size(); ++i) {
              auto [sum, fresh] = by_row.try_emplace(some.ids[i], gradients.begin() + static_cast<std::ptrdiff_t>(i * width),
                                                     gradients.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
              for (std::uint64_t c = 0; c < width && !fresh; ++c) sum->second[c] += gradients[i * width + c];
            }
            auto const rate = static_cast<float>(0.125 * std::sqrt(1 - std::pow(0.5, k)) / (1 - std::pow(0.75, k)));
            for (auto const& [id, g] : by_row)
              for (std::uint64_t c = 0; c < width; ++c) {
                std::size_t const i = static_cast<std::size_t>(id) * width + c;
                float const d = g[c];
                if (how == row_optimizer::sgd) w[i] -= 0.125f * d;
                if (how == row_optimizer::adagrad) {
                  a[i] += d * d;
                  w[i] -= 0.125f * (d / (std::sqrt(a[i]) + 0x1p-20f));
                }
                if (how == row_optimizer::adam) {
                  a[i] += 0.25f * (d - a[i]), b[i] += 0.5f * (d * d - b[i]);
                  w[i] -= rate * (a[i] / (std::sqrt(b[i]) + 0x1p-20f));
                }
                w[i] = nearest(w[i], kind);
              }
            expect_same(all_of(e), w, last_bit);
            if (how != row_optimizer::sgd) expect_same(all_of(e, e.states()[0]), a, 0x1p-20f);
            if (how == row_optimizer::adam) expect_same(all_of(e, "exp_avg_sq"), b, 0x1p-20f);
            if (HasFailure()) FAIL() << to_string(kind) << " " << to_string(how) << " " << width << " " << k;
            w = all_of(e);
          }
          batch const some = make_batch(from, 60, width, 90);  // gathers return the 16 bits
          auto const ids = near_copy(x, some.ids);
          buffer<std::uint16_t> out(x.near(), 90 * width, x.device(), "a test");
          e.gather(std::span<std::int64_t const>(ids.data(), 90), row_output(out.data(), out.bytes()));
          auto const rows = widened(host_copy(x, out.data(), out.size()), kind);
          for (std::size_t k = 0; k < 90; ++k)
            for (std::size_t c = 0; c < width; ++c) ASSERT_EQ(rows[k * width + c], w[static_cast<std::size_t>(some.ids[k]) * width + c]);
        }
  }
}

TEST_P(embedding_test, kinds_are_checked) {
  executor x(where());
  embedding_options o = options(row_optimizer::sgd);
  for (element const bad : {element::i8, element::i64, element::u8}) {
    o.kind = bad;
    EXPECT_THAT(error_of([&] { embedding(4, 4, o); }), ::testing::HasSubstr("use f32, f16 or bf16"));
  }
  o.kind = element::f16;
  embedding e(4, 4, o);
  auto const ids = near_copy(x, std::vector<std::int64_t>{1});
  auto const given = narrow_copy(x, std::vector<float>(4), element::bf16);
  EXPECT_THAT(error_of([&] { e.update(std::span<std::int64_t const>(ids.data(), 1), gradient_span(given.data(), 4, element::bf16)); }),
              ::testing::HasSubstr("gradients of bf16 for rows of f16"));
}

TEST_P(embedding_test, a_file_keeps_16_bits) {
  executor x(where());
  auto const file = std::filesystem::temp_directory_path() / ("garner_narrow_" + std::to_string(::getpid()) + ".safetensors");
  for (element const kind : {element::f16, element::bf16}) {
    embedding_options o = options(row_optimizer::adam, 4000);
    o.kind = kind;
    embedding e(200, 13, o);
    std::mt19937 from(9);
    step(x, e, make_batch(from, 200, 13, 90), {});
    e.save(file);
    EXPECT_LT(std::filesystem::file_size(file), 200u * 13 * 10 + 1500);
    o.seed = 99;
    embedding again(200, 13, o);
    again.load(file);
    batch const b = make_batch(from, 200, 13, 90);
    step(x, e, b, {}), step(x, again, b, {});
    EXPECT_EQ(all_of(e), all_of(again));
    o.kind = kind == element::f16 ? element::bf16 : element::f32;
    embedding other(200, 13, o);
    EXPECT_THAT(error_of([&] { other.load(file); }), ::testing::HasSubstr("made for another"));
  }
  std::filesystem::remove(file);
}

TEST_P(embedding_test, a_file_goes_on_bit_for_bit) {
  executor x(where());
  auto const file = std::filesystem::temp_directory_path() / ("garner_rows_" + std::to_string(::getpid()) + ".safetensors");
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam}) {
    embedding e(200, 12, options(how, 4000));
    std::mt19937 from(9);
    for (int k = 0; k < 3; ++k) step(x, e, make_batch(from, 200, 12, 90), {});
    e.save(file);
    embedding_options other = options(how, 0);
    other.seed = 99;
    embedding again(200, 12, other);
    again.load(file);
    EXPECT_EQ(again.steps(), 3u);
    for (int k = 0; k < 2; ++k) {
      batch const b = make_batch(from, 200, 12, 90);
      step(x, e, b, {}), step(x, again, b, {});
    }
    EXPECT_EQ(all_of(e), all_of(again));
    for (auto const& s : e.states()) EXPECT_EQ(all_of(e, s), all_of(again, s));
    // A file for another table, or a damaged one, changes nothing.
    embedding wider(200, 13, options(how));
    auto const before = all_of(wider);
    EXPECT_THAT(error_of([&] { wider.load(file); }), ::testing::HasSubstr("200 rows of 13"));
    EXPECT_EQ(all_of(wider), before);
    {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(-5, std::ios::end);
      bytes.put('\x55');
    }
    auto const kept = all_of(again);
    errc code{};
    EXPECT_THAT(error_of([&] { again.load(file); }, &code), ::testing::HasSubstr("checksum"));
    EXPECT_EQ(code, errc::input);
    EXPECT_EQ(all_of(again), kept);
  }
  std::filesystem::remove(file);
}

TEST_P(embedding_test, what_is_wrong_is_named_and_changes_nothing) {
  executor x(where());
  embedding e(50, 9, options(row_optimizer::adam, 3000));
  std::mt19937 from(1);
  step(x, e, make_batch(from, 50, 9, 30), {});
  auto const weights = all_of(e), first = all_of(e, "exp_avg"), second = all_of(e, "exp_avg_sq");
  auto const unchanged = [&] {
    EXPECT_EQ(all_of(e), weights);
    EXPECT_EQ(all_of(e, "exp_avg"), first);
    EXPECT_EQ(all_of(e, "exp_avg_sq"), second);
    EXPECT_EQ(e.steps(), 1u);
  };
  for (std::int64_t const bad : {std::int64_t{50}, std::int64_t{-3}}) {
    batch b = make_batch(from, 50, 9, 30);
    b.ids[17] = bad, b.ids[20] = 400;
    errc code{};
    EXPECT_EQ(error_of([&] { step(x, e, b, {}); }, &code), fmt::format("id {} at position 17: this table has rows 0 to 49", bad));
    EXPECT_EQ(code, errc::input);
    unchanged();
    auto const ids = near_copy(x, b.ids);
    buffer<float> out(x.near(), 30 * 9, x.device(), "a test");
    EXPECT_THROW(e.gather(std::span<std::int64_t const>(ids.data(), 30), row_output(out.data(), out.bytes())), id_error);
  }
  for (float const bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    batch b = make_batch(from, 50, 9, 30);
    b.gradients[12 * 9 + 8] = bad;
    errc code{};
    EXPECT_THAT(error_of([&] { step(x, e, b, {}); }, &code),
                ::testing::StartsWith(fmt::format("the gradient of row {} is not a finite number; this step changed nothing", b.ids[12])));
    EXPECT_EQ(code, errc::input);
    unchanged();
  }
  sparse_step wrong;
  wrong.learning_rate = std::nan("");
  EXPECT_THAT(error_of([&] { step(x, e, make_batch(from, 50, 9, 3), wrong); }), ::testing::HasSubstr("use more than 0"));
  batch b = make_batch(from, 50, 9, 3);
  b.gradients.pop_back();
  EXPECT_THAT(error_of([&] { step(x, e, b, {}); }), ::testing::HasSubstr("26 numbers of gradients for 3 ids"));
  std::vector<float> some(9);
  EXPECT_THAT(error_of([&] { e.read("sum", 0, 1, some); }), ::testing::HasSubstr("use weight or exp_avg, exp_avg_sq"));
  unchanged();
}

TEST_P(embedding_test, ctrl_c_stops_before_a_step_or_after_it) {
  executor x(where());
  embedding e(20000, 4, options(row_optimizer::adagrad, 0));
  std::mt19937 from(1);
  batch const b = make_batch(from, 20000, 4, 30000);
  embedding twin(20000, 4, options(row_optimizer::adagrad, 0));
  request_interrupt();
  errc code{};
  error_of([&] { step(x, e, b, {}); }, &code);
  clear_interrupt();
  EXPECT_EQ(code, errc::interrupted);
  EXPECT_EQ(all_of(e), all_of(twin));
  request_interrupt_after(1);  // ignored within the step
  step(x, e, b, {});
  clear_interrupt();
  step(x, twin, b, {});
  EXPECT_EQ(all_of(e), all_of(twin));
}

TEST(embedding, far_rows_cross_the_link_once_each_way) {
  GARNER_NEEDS_COUNTS();
  execution_device const where{device_kind::simulated, 0};
  executor x(where);
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam}) {
    embedding_options o;
    o.device = where, o.optimizer = how;
    std::uint64_t const record = embedding(1, 32, o).record_bytes();
    EXPECT_EQ(record, 128u * (how == row_optimizer::sgd ? 1 : how == row_optimizer::adagrad ? 2 : 3));
    o.feature_cache = 10 * record;
    embedding e(40, 32, o);
    batch b;
    b.ids = {3, 30, 30, 5, 31, 30, 9, 10};
    b.gradients.assign(b.ids.size() * 32, 0.5f);
    update_run const run = step(x, e, b, {});
    EXPECT_EQ(run.rows, 6u);
    EXPECT_EQ(run.remote_rows, 3u);  // 10, 30, 31
    EXPECT_EQ(run.remote_bytes, 3 * record);
    EXPECT_EQ(run.link.bytes_link(), 3 * record);
    EXPECT_EQ(run.link.requests[3], 3 * record / 128);
    std::vector<float> out(b.ids.size() * 32);
    gather_run const read = e.gather(std::span<std::int64_t const>(b.ids), out);
    EXPECT_EQ(read.link.bytes_link(), 3 * 128u);  // of the row alone
  }
  // Rows that are not whole lines are read and written in whole sectors.
  embedding_options o;
  o.device = where, o.feature_cache = 0;
  embedding e(40, 5, o);
  EXPECT_EQ(e.record_bytes(), 96u);
  std::vector<std::int64_t> const ids{7};
  std::vector<float> const gradients(5, 1.0f);
  EXPECT_EQ(e.update(std::span(ids), gradients).link.bytes_link(), 96u);
}

// Also one array for a file: only requested records move, and the other halves of their pairs.
TEST(embedding, one_array_of_far_records_crosses_the_link_once) {
  GARNER_NEEDS_COUNTS();
  traffic_model seen(access_mode::aligned);
  executor x({device_kind::simulated, 0}, &seen);
  for (row_optimizer const how : {row_optimizer::sgd, row_optimizer::adagrad, row_optimizer::adam})
    for (tier const at : {tier::host, tier::device}) {
      record_view v;
      v.width = 32, v.part = record_view::part_of(32, element::f32), v.optimizer = how;
      std::uint64_t const floats = record_view::record_bytes(32, how, element::f32) / sizeof(float),
                          arrays = how == row_optimizer::sgd       ? 1
                                   : how == row_optimizer::adagrad ? 2
                                                                   : 3;
      buffer<float> records(tier::host, 40 * floats, -1, "a test");
      for (std::uint64_t i = 0; i < records.size(); ++i) records[i] = static_cast<float>(i);
      char const* const begin = reinterpret_cast<char const*>(records.data());
      v.rows.rows = 40, v.rows.row_bytes = 128, v.rows.stride = floats * sizeof(float);
      v.rows.add(at, 40, 1, &begin);
      for (std::uint32_t which = 0; which < arrays; ++which) {
        std::vector<float> to(40 * 32);
        read_records(x, v, which, 0, 40, to.data());
        for (std::uint64_t r = 0; r < 40; ++r)
          for (std::uint64_t c = 0; c < 32; ++c)
            ASSERT_EQ(to[r * 32 + c], records[r * floats + (which ? 32 + v.at(which, c) : c)]) << which;
        std::uint64_t const bytes = at == tier::device ? 0 : 40 * (how == row_optimizer::adam && which ? 256 : 128);
        EXPECT_EQ(seen.take().bytes_link(), bytes) << to_string(how) << " " << which;
      }
    }
}

TEST(embedding, a_budget_refuses_and_options_are_checked) {
  embedding_options o;
  o.device = {device_kind::simulated, 0};
  EXPECT_THAT(error_of([&] { embedding(0, 4, o); }), ::testing::HasSubstr("at least one of each"));
  EXPECT_THAT(error_of([&] { embedding(std::uint64_t{1} << 60, 1024, o); }), ::testing::HasSubstr("more than a machine addresses"));
  o.init_scale = -1;
  EXPECT_THAT(error_of([&] { embedding(4, 4, o); }), ::testing::HasSubstr("use 0 or more"));
  o.init_scale = 1;
  std::vector<float> const few(3);
  o.scores = few;
  EXPECT_THAT(error_of([&] { embedding(4, 4, o); }), ::testing::HasSubstr("3 scores for a table of 4 rows"));
  o.scores = {};
  EXPECT_THAT(error_of([&] { parse_row_optimizer("rmsprop"); }), ::testing::HasSubstr("use sgd, adagrad or adam"));
  EXPECT_THAT(error_of([&] { parse_initializer("xavier"); }), ::testing::HasSubstr("use normal, uniform or zero"));
  budget& host = host_budget();
  std::uint64_t const limit = host.limit();
  host.set_limit(host.used() + (1u << 20));
  errc code{};
  error_of([&] { embedding(100000, 64, o); }, &code);
  host.set_limit(limit);
  EXPECT_EQ(code, errc::memory);
}

}  // namespace
}  // namespace garner::testing
