// GEMMs against three loops in double: our own, OpenBLAS if available, and class blas on every device.
#include "nn/blas.hpp"

#include <gmock/gmock.h>

#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "child.hpp"
#include "core/random.hpp"
#include "nn/dense_product.hpp"
#include "sanitized.hpp"
#include "support.hpp"

namespace garner {
namespace {
using namespace garner::testing;

struct shape {
  std::uint64_t m, n, k;
};

// Operands in host memory. Padding between rows is NaN, and so is c unless it is read.
template <class T>
struct matrices {
  bool transpose_a, transpose_b;
  shape of;
  T alpha, beta;
  std::uint64_t lda, ldb, ldc;
  std::vector<T> a, b, c;

  matrices(shape s, int transposes, std::uint64_t seed) : transpose_a(transposes & 1), transpose_b(transposes & 2), of(s) {
    constexpr std::array<T, 4> alphas{1, T(-0.5), 2, 0}, betas{0, 1, T(0.25), 0};
    alpha = alphas[seed % 4], beta = betas[seed / 4 % 4];
    lda = (transpose_a ? s.m : s.k) + seed % 3;
    ldb = (transpose_b ? s.k : s.n) + seed % 5;
    ldc = s.n + seed % 4;
    T const nothing = std::numeric_limits<T>::quiet_NaN();
    auto const fill = [&](std::vector<T>& to, std::uint64_t rows, std::uint64_t columns, std::uint64_t ld, std::uint64_t salt, bool read) {
      to.assign(rows * ld, nothing);
      for (std::uint64_t i = 0; read && i < rows; ++i)
        for (std::uint64_t j = 0; j < columns; ++j)
          to[i * ld + j] = static_cast<T>(static_cast<double>(random_bits(seed, salt, i * columns + j) >> 11) * 0x1p-52 - 1);
    };
    fill(a, transpose_a ? s.k : s.m, transpose_a ? s.m : s.k, lda, 1, true);
    fill(b, transpose_b ? s.n : s.k, transpose_b ? s.k : s.n, ldb, 2, true);
    fill(c, s.m, s.n, ldc, 3, beta != 0);
  }

  dense_product<T> product(T* into) const {
    return {transpose_a, transpose_b, of.m, of.n, of.k, alpha, a.data(), lda, b.data(), ldb, beta, into, ldc};
  }
  // `unit`: rounding unit of a factor or a sum.
  void expect(std::vector<T> const& got, double unit = std::numeric_limits<T>::epsilon()) const {
    ASSERT_EQ(got.size(), c.size());
    if (wanted.empty()) multiply();
    for (std::uint64_t i = 0; i < of.m; ++i) {
      for (std::uint64_t j = 0; j < of.n; ++j) {
        auto const [want, size] = wanted[i * of.n + j];
        double const is = double{got[i * ldc + j]};
        if (!(std::abs(is - want) <= unit * (static_cast<double>(of.k) + 4) * size))
          FAIL() << "at " << i << ", " << j << " of " << said() << ": " << is << " where " << want << " was to be";
      }
      bool const kept = ldc == of.n || std::memcmp(&got[i * ldc + of.n], &c[i * ldc + of.n], (ldc - of.n) * sizeof(T)) == 0;
      ASSERT_TRUE(kept) << "written between rows, " << said();
    }
  }
  std::string said() const {
    return fmt::format("{} x {} x {}, {}{}, alpha {}, beta {}", of.m, of.n, of.k, transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', alpha,
                       beta);
  }

 private:
  struct element {
    double is, size;  // the sum, and the sum of absolute terms
  };
  mutable std::vector<element> wanted;

  void multiply() const {
    std::uint64_t const a_step = transpose_a ? lda : 1, b_step = transpose_b ? 1 : ldb;
    wanted.reserve(of.m * of.n);
    for (std::uint64_t i = 0; i < of.m; ++i)
      for (std::uint64_t j = 0; j < of.n; ++j) {
        T const *left = a.data(), *right = b.data();
        if (of.k > 0) left += i * (transpose_a ? 1 : lda), right += j * (transpose_b ? ldb : 1);
        double sum = 0, size = 0;
        for (std::uint64_t p = 0; p < of.k; ++p, left += a_step, right += b_step) {
          double const term = double{*left} * double{*right};
          sum += term, size += term < 0 ? -term : term;
        }
        double want = double{alpha} * sum, slack = std::abs(double{alpha}) * size;
        if (beta != 0) want += double{beta} * double{c[i * ldc + j]}, slack += std::abs(double{beta} * double{c[i * ldc + j]});
        wanted.push_back({want, slack});
      }
  }
};

// 0 to 130 in every dimension, in steps, and sizes of more than one cache block.
std::vector<shape> shapes_of_step(std::uint64_t step) {
  std::vector<shape> shapes;
  for (std::uint64_t s = 0; s <= 130; s += step) shapes.push_back({s, (s * 37 + 11) % 131, (s * 53 + 29) % 131});
  for (shape const more : {shape{0, 5, 7}, shape{5, 0, 7}, shape{5, 7, 0}, shape{1, 1, 1}, shape{1, 1, 1000}, shape{300, 1, 270},
                           shape{1, 600, 257}, shape{97, 259, 513}, shape{200, 130, 256}})
    shapes.push_back(more);
  return shapes;
}

// run(matrices) for all of these, with all transpositions.
template <class T, class Run>
void each_case(std::uint64_t step, Run run) {
  std::uint64_t seed = 0;
  for (shape const s : shapes_of_step(step))
    for (int transposes = 0; transposes < 4; ++transposes) {
      run(matrices<T>(s, transposes, seed++ * 7 + 1));
      if (::testing::Test::HasFatalFailure()) return;
    }
}

template <class T>
class dense : public ::testing::Test {};
using both_widths = ::testing::Types<float, double>;
TYPED_TEST_SUITE(dense, both_widths);

TYPED_TEST(dense, own_product_is_right) {
  thread_pool threads(3);
  each_case<TypeParam>(1, [&](matrices<TypeParam> const& at) {
    for (bool const plain : {false, true}) {
      std::vector<TypeParam> c = at.c;
      own_product(threads, at.product(c.data()), plain);
      at.expect(c);
    }
  });
}

TYPED_TEST(dense, cblas_is_right) {
  on_host::cblas const found = on_host::find_cblas(nullptr);
  if (!found.sgemm) GTEST_SKIP() << "needs a BLAS: " << found.about;
  executor x({device_kind::cpu, 0});
  auto const library = on_host::open_dense(x, found);
  each_case<TypeParam>(3, [&](matrices<TypeParam> const& at) {
    std::vector<TypeParam> c = at.c;
    if (at.of.m > 0 && at.of.n > 0) library->run(at.product(c.data()));
    at.expect(c);
  });
}

TYPED_TEST(dense, own_product_has_the_same_bits_for_any_threads) {
  using T = TypeParam;
  thread_pool one(1), two(2), seven(7);
  for (shape const s : {shape{700, 96, 256}, shape{130, 256, 700}, shape{1, 5000, 300}, shape{77, 33, 21}})
    for (int transposes = 0; transposes < 4; ++transposes) {
      matrices<T> const at(s, transposes, 5);
      for (bool const plain : {false, true}) {
        std::vector<T> first = at.c;
        own_product(one, at.product(first.data()), plain);
        for (thread_pool* const threads : {&two, &seven}) {
          std::vector<T> c = at.c;
          own_product(*threads, at.product(c.data()), plain);
          ASSERT_EQ(std::memcmp(c.data(), first.data(), c.size() * sizeof(T)), 0) << threads->threads() << " threads, " << at.said();
        }
      }
    }
}

// A row with more elements than an int can count: OpenBLAS cannot do it.
TYPED_TEST(dense, rows_longer_than_an_int_counts) {
  using T = TypeParam;
  constexpr std::uint64_t ld = (std::uint64_t{1} << 31) + 5;
  std::size_t const bytes = (ld + 3) * sizeof(T);
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) GTEST_SKIP() << "no " << bytes << " bytes of addresses here";
  T* const a = static_cast<T*>(room);
  for (std::uint64_t j = 0; j < 3; ++j) a[j] = static_cast<T>(j + 1), a[ld + j] = static_cast<T>(10 * (j + 1));
  std::array<T, 2> const b{1, 2};
  std::array<T, 3> c{};
  executor x({device_kind::cpu, 0});
  blas products(x, dense_math::f32);
  products.product(true, false, 3, 1, 2, T{1}, a, ld, b.data(), 1, T{0}, c.data(), 1);
  ::munmap(room, bytes);
  EXPECT_EQ(c, (std::array<T, 3>{21, 42, 63}));
}

TEST(dense_math, names_there_and_back) {
  for (dense_math const math : {dense_math::f32, dense_math::tf32, dense_math::bf16}) EXPECT_EQ(parse_dense_math(to_string(math)), math);
  errc code{};
  EXPECT_EQ(error_of([] { parse_dense_math("f16"); }, &code), "dense math 'f16': use f32, tf32 or bf16");
  EXPECT_EQ(code, errc::usage);
}

TEST(find_cblas, says_what_a_named_file_lacks) {
  errc code{};
  EXPECT_THAT(error_of([] { on_host::find_cblas("/nowhere/libopenblas.so"); }, &code),
              ::testing::AllOf(::testing::HasSubstr("GARNER_BLAS '/nowhere/libopenblas.so': "),
                               ::testing::HasSubstr("No such file or directory; name the file of a BLAS with cblas_sgemm")));
  EXPECT_EQ(code, errc::usage);
  EXPECT_THAT(error_of([] { on_host::find_cblas("libz.so.1"); }), ::testing::HasSubstr("libz.so.1 has no cblas_sgemm and cblas_dgemm"));
  on_host::cblas const none = on_host::find_cblas("none");
  EXPECT_FALSE(none.sgemm || none.dgemm);
  EXPECT_EQ(none.about, "GARNER_BLAS says none");
}

// The environment is read once per process, so a child process checks it.
TEST(find_cblas, DISABLED_asks) {
  executor x({device_kind::simulated, 0});
  try {
    for (char const letter : blas(x, dense_math::f32).about()) tell(letter);
  } catch (error const& e) {
    for (char const letter : std::string_view(e.what())) tell(letter);
  }
  ::_exit(0);
}
std::string asked_with(std::string const& setting) {
  child asks("find_cblas.DISABLED_asks", {setting});
  std::string said;
  while (char const letter = asks.hears()) said += letter;
  EXPECT_EQ(asks.end(), 0);
  return said;
}
TEST(find_cblas, goes_by_the_environment) {
  EXPECT_EQ(asked_with("GARNER_BLAS=none"), "Garner's own (GARNER_BLAS says none)");
  EXPECT_THAT(asked_with("GARNER_BLAS=libz.so.1"), ::testing::StartsWith("GARNER_BLAS 'libz.so.1': "));
  std::string const usual = asked_with("GARNER_BLAS=");
  EXPECT_EQ(usual.find("Garner's own") == 0, on_host::find_cblas(nullptr).sgemm == nullptr) << usual;
}

class dense_at : public at_place {
 protected:
  // Null, and skipped, on a device without cuBLAS.
  std::unique_ptr<blas> open(executor& x, dense_math math = dense_math::f32) {
    try {
      return std::make_unique<blas>(x, math);
    } catch (error const& e) {
      if (!x.on_device() || std::string_view(e.what()).find("no cuBLAS") == std::string_view::npos) throw;
      skip(e.what());
      return nullptr;
    }
  }
  template <class T>
  std::vector<T> run(executor& x, blas& products, matrices<T> const& at) {
    auto const a = near_copy(x, at.a), b = near_copy(x, at.b), c = near_copy(x, at.c);
    products.product(at.transpose_a, at.transpose_b, at.of.m, at.of.n, at.of.k, at.alpha, a.data(), at.lda, b.data(), at.ldb, at.beta,
                     c.data(), at.ldc);
    return host_copy(x, c.data(), at.c.size());
  }
  template <class T>
  void all() {
    executor x(where());
    if (auto const products = open(x)) each_case<T>(7, [&](matrices<T> const& at) { at.expect(run(x, *products, at)); });
  }

 private:
  static void skip(char const* why) { GTEST_SKIP() << why; }
};

TEST_P(dense_at, floats) { all<float>(); }
TEST_P(dense_at, doubles) { all<double>(); }

TEST_P(dense_at, same_bits_again) {
  executor x(where());
  auto const products = open(x);
  if (!products) return;
  for (shape const s : {shape{2000, 64, 100}, shape{64, 64, 9000}}) {
    matrices<float> const at(s, 1, 5);
    std::vector<float> const first = run(x, *products, at);
    for (int again = 0; again < 3; ++again)
      EXPECT_EQ(std::memcmp(run(x, *products, at).data(), first.data(), first.size() * sizeof(float)), 0) << at.said();
  }
}

// Coarser factors on a device; the CPU has none.
TEST_P(dense_at, coarser_math) {
  executor x(where());
  auto const exact = open(x);
  if (!exact) return;
  matrices<float> const at({130, 128, 96}, 0, 5);
  std::vector<float> const fine = run(x, *exact, at);
  for (auto const& [math, unit] : {std::pair(dense_math::tf32, 0x1p-9), std::pair(dense_math::bf16, 0x1p-6)}) {
    auto const coarse = open(x, math);
    std::vector<float> const got = run(x, *coarse, at);
    if (x.on_device()) at.expect(got, unit);
    else EXPECT_EQ(std::memcmp(got.data(), fine.data(), fine.size() * sizeof(float)), 0);
  }
}

TEST_P(dense_at, follows_the_stream) {
  executor x(where());
  auto const products = open(x);
  if (!products) return;
  executor other(where());
  matrices<float> const at({97, 65, 130}, 2, 5);
  at.expect(run(x, *products, at));
  x.wait();
  x.work_on(other.stream());
  at.expect(run(x, *products, at));
  x.wait();
  x.work_on(nullptr);
  at.expect(run(x, *products, at));
}

// Like product(), then bias and ReLU. An unsupported call reports it, and leaves everything unchanged.
TEST_P(dense_at, endings_are_those_that_a_pass_behind_would_make) {
  executor x(where());
  auto const products = open(x);
  if (!products) return;
  EXPECT_EQ(products->ends_products(false), x.on_device());
  if (!x.on_device()) {
    EXPECT_FALSE(products->ends_products(true));
  }
  std::uint64_t done = 0;
  for (shape const s : {shape{4097, 64, 64}, shape{1000, 16, 100}, shape{300, 47, 16}, shape{37, 5, 3}, shape{1, 1, 1}})
    for (std::uint64_t const seed : {2, 4})  // rows as long as they are wide, and with padding
      for (bool const relu : {false, true}) {
        matrices<float> at(s, 2, seed);
        at.alpha = 1, at.beta = 0;
        bool const with_nan = s.m > 30;
        if (with_nan) at.a[17 * at.lda + s.k / 2] = std::numeric_limits<float>::quiet_NaN();
        std::vector<float> bias(s.n);
        for (std::uint64_t j = 0; j < s.n; ++j) bias[j] = static_cast<float>(j % 5) - 2;
        auto const a = near_copy(x, at.a), b = near_copy(x, at.b), plain = near_copy(x, at.c), c = near_copy(x, at.c),
                   of = near_copy(x, bias);
        products->product(false, true, s.m, s.n, s.k, 1.f, a.data(), at.lda, b.data(), at.ldb, 0.f, plain.data(), at.ldc);
        std::vector<float> expected = host_copy(x, plain.data(), at.c.size());
        bool const ended =
            products->product_ended(false, true, s.m, s.n, s.k, a.data(), at.lda, b.data(), at.ldb, c.data(), at.ldc, of.data(), relu);
        EXPECT_TRUE(!ended || products->ends_products(relu));
        std::vector<float> const got = host_copy(x, c.data(), at.c.size());
        if (!ended) {
          EXPECT_EQ(std::memcmp(got.data(), at.c.data(), got.size() * sizeof(float)), 0) << at.said();
          continue;
        }
        ++done;
        for (std::uint64_t i = 0; i < s.m; ++i)
          for (std::uint64_t j = 0; j < s.n; ++j) {
            float want = expected[i * at.ldc + j] + bias[j];
            if (relu && want < 0) want = 0;
            float const is = got[i * at.ldc + j];
            ASSERT_EQ(std::isnan(is), with_nan && i == 17) << at.said() << " at " << i << ", " << j;
            if (std::isnan(is)) continue;
            ASSERT_NEAR(is, want, 1e-4f) << at.said() << " at " << i << ", " << j;
          }
        bool const kept = at.ldc == s.n || std::memcmp(&got[s.n], &at.c[s.n], (at.ldc - s.n) * sizeof(float)) == 0;
        EXPECT_TRUE(kept) << "written between rows, " << at.said();
      }
  EXPECT_EQ(done > 0, x.on_device());
}

TEST_P(dense_at, refuses_rows_that_do_not_hold_their_columns) {
  executor x(where());
  auto const products = open(x);
  if (!products) return;
  float none = 0;
  auto const refused = [&](bool transpose_a, bool transpose_b, std::uint64_t lda, std::uint64_t ldb, std::uint64_t ldc) {
    errc code{};
    std::string const said =
        error_of([&] { products->product(transpose_a, transpose_b, 4, 3, 5, 1.f, &none, lda, &none, ldb, 0.f, &none, ldc); }, &code);
    EXPECT_EQ(code, errc::usage);
    return said;
  };
  EXPECT_EQ(refused(false, false, 4, 3, 3),
            "dense product: a has 4 x 5 elements, and a row of it 4; use at least as many a row as there are columns");
  EXPECT_THAT(refused(true, false, 3, 3, 3), ::testing::HasSubstr("a has 5 x 4 elements, and a row of it 3;"));
  EXPECT_THAT(refused(false, false, 5, 2, 3), ::testing::HasSubstr("b has 5 x 3 elements, and a row of it 2;"));
  EXPECT_THAT(refused(false, true, 5, 4, 3), ::testing::HasSubstr("b has 3 x 5 elements, and a row of it 4;"));
  EXPECT_THAT(refused(false, false, 5, 3, 2), ::testing::HasSubstr("c has 4 x 3 elements, and a row of it 2;"));
}

TEST_P(dense_at, says_which_library) {
  executor x(where());
  if (auto const products = open(x); products && x.on_device()) {
    EXPECT_THAT(products->about(), ::testing::StartsWith("cuBLAS 1"));
  } else if (products) {
    EXPECT_FALSE(products->about().empty());
    if (GARNER_THREAD_SANITIZED) {
      EXPECT_EQ(products->about(), "Garner's own (ThreadSanitizer cannot see into OpenBLAS)");
    }
  }
}

GARNER_AT_EVERY_PLACE(dense_at);

}  // namespace
}  // namespace garner
