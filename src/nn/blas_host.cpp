// OpenBLAS, or another BLAS with C's names, opened at run time; without one, the product of our own.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/fail.hpp"
#include "core/opened_library.hpp"
#include "nn/dense_product.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GARNER_UNDER_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define GARNER_UNDER_TSAN 1
#endif

namespace garner::on_host {

namespace {
constexpr int row_major = 101, as_it_is = 111, transposed = 112;  // CBLAS_ORDER and CBLAS_TRANSPOSE

// Whether a file is usable; if not, why.
cblas open_file(char const* file, bool must_be_quick) {
  cblas found;
  bool const there = opened_library::of_file(file, opened_library::from::process).has_value();
  std::optional<opened_library> const library = opened_library::of_file(file, opened_library::from::loader, &found.about);
  if (!library) return found;
  char* (*config)() = nullptr;
  cblas::sgemm_call sgemm = nullptr;
  cblas::dgemm_call dgemm = nullptr;
  library->entry_if_any(config, "openblas_get_config");
  std::string_view const words = config ? config() : "";
  if (!library->entry_if_any(sgemm, "cblas_sgemm") || !library->entry_if_any(dgemm, "cblas_dgemm")) {
    found.about = fmt::format("{} has no cblas_sgemm and cblas_dgemm", file);
  } else if (words.find("USE64BITINT") != words.npos) {
    found.about = fmt::format("{} counts in 64 bits, and the names it is called by in 32", file);
  } else if (must_be_quick && !config && !library->has("bli_info_get_version_str") && !library->has("mkl_get_version_string")) {
    found.about = fmt::format("{} is neither OpenBLAS, BLIS nor MKL", file);
  } else {
    found.sgemm = sgemm;
    found.dgemm = dgemm;
    found.about = fmt::format("{} ({})", config ? words : "a BLAS", library->path_of("cblas_sgemm"));
    // The process that loaded it sets its number of threads.
    void (*set_threads)(int) = nullptr;
    if (!there && library->entry_if_any(set_threads, "openblas_set_num_threads") && !std::getenv("OPENBLAS_NUM_THREADS"))
      set_threads(static_cast<int>(shared_pool().threads()));
  }
  return found;
}

class by_cblas final : public dense_library {
 public:
  by_cblas(executor& x, cblas found) : x_(x), found_(std::move(found)) {}
  void run(dense_product<float> const& p) override { run(found_.sgemm, p); }
  void run(dense_product<double> const& p) override { run(found_.dgemm, p); }
  std::string about() const override { return found_.about; }

 private:
  template <class Call, class T>
  void run(Call call, dense_product<T> const& p) {
    static constexpr std::uint64_t ldas_least = 1;                   // CBLAS refuses rows of none
    if (std::max({p.m, p.n, p.k, p.lda, p.ldb, p.ldc}) > INT_MAX) {  // it counts in int
      x_.give([&threads = x_.threads(), p] { own_product(threads, p); });
      return;
    }
    x_.give([call, p] {
      auto const number = [](std::uint64_t n) { return static_cast<int>(n); };
      call(row_major, p.transpose_a ? transposed : as_it_is, p.transpose_b ? transposed : as_it_is, number(p.m), number(p.n), number(p.k),
           p.alpha, p.a, number(std::max(p.lda, ldas_least)), p.b, number(std::max(p.ldb, ldas_least)), p.beta, p.c, number(p.ldc));
    });
  }
  executor& x_;
  cblas found_;
};

class by_hand final : public dense_library {
 public:
  by_hand(executor& x, std::string why) : x_(x), why_(std::move(why)) {}
  void run(dense_product<float> const& p) override {
    x_.give([&threads = x_.threads(), p] { own_product(threads, p); });
  }
  void run(dense_product<double> const& p) override {
    x_.give([&threads = x_.threads(), p] { own_product(threads, p); });
  }
  std::string about() const override { return fmt::format("Garner's own ({})", why_); }

 private:
  executor& x_;
  std::string why_;
};
}  // namespace

cblas find_cblas(char const* named) {
  if (named && *named) {
    if (std::string_view(named) == "none") return {nullptr, nullptr, "GARNER_BLAS says none"};
    cblas found = open_file(named, false);
    if (!found.sgemm)
      fail(errc::usage, "GARNER_BLAS '{}': {}; name the file of a BLAS with cblas_sgemm, such as libopenblas.so.0, or use none", named,
           found.about);
    return found;
  }
#ifdef GARNER_UNDER_TSAN
  return {nullptr, nullptr, "ThreadSanitizer cannot see into OpenBLAS"};
#else
  for (char const* file : {"libopenblas.so.0", "libopenblas.so"})
    if (cblas found = open_file(file, false); found.sgemm) return found;
  // The reference of Netlib goes by this name too, and is slower than our own.
  if (cblas found = open_file("libblas.so.3", true); found.sgemm) return found;
  return {nullptr, nullptr, "no libopenblas.so.0 here"};
#endif
}

std::unique_ptr<dense_library> open_dense(executor& x, cblas const& found) {
  if (found.sgemm) return std::make_unique<by_cblas>(x, found);
  return std::make_unique<by_hand>(x, found.about);
}

std::unique_ptr<dense_library> open_dense(executor& x) {
  static cblas const found = find_cblas(std::getenv("GARNER_BLAS"));
  return open_dense(x, found);
}

}  // namespace garner::on_host
