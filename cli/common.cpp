#include "common.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/stats.hpp"

namespace garner::cli {

void write_out(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw output_error{errno};
}

void flush_out() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw output_error{errno};
}

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

namespace {

bool number(std::string_view text, double& to) {
  double value = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  to = value;
  return code == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

void draw_bar(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (total == 0 || done >= total) {
    std::fputs("\r\033[K", stderr);
    return;
  }
  auto const filled = static_cast<std::size_t>(30.0 * static_cast<double>(done) / static_cast<double>(total));
  fmt::print(stderr, "\r\033[K{} [{:<30}] {:3.0f} %", what, std::string(filled, '#'), 100.0 * static_cast<double>(done) / static_cast<double>(total));
  std::fflush(stderr);
}

}  // namespace

void parse_weight_range(std::string const& option, std::string const& text, weight_kind kind, build_options::random_weights& to) {
  std::size_t const colon = text.find(':');
  double low = 0, high = 0;
  bool ok = colon != std::string::npos && number(std::string_view(text).substr(0, colon), low) &&
            number(std::string_view(text).substr(colon + 1), high) && low <= high;
  if (ok && kind == weight_kind::u32) ok = low >= 0 && high <= std::numeric_limits<std::uint32_t>::max() && low == std::floor(low) && high == std::floor(high);
  if (ok && kind == weight_kind::f32) ok = std::fabs(low) <= std::numeric_limits<float>::max() && std::fabs(high) <= std::numeric_limits<float>::max();
  if (!ok)
    fail(errc::usage, "{} {}: not a range of {}; say LOW:HIGH, as {}", option, text, kind == weight_kind::u32 ? "whole numbers from 0 to 2^32 - 1" : "numbers",
         kind == weight_kind::u32 ? "1:255" : "0:1");
  to.kind = kind;
  to.low = low;
  to.high = high;
}

void show_progress(bool wanted) {
  if (wanted && isatty(STDERR_FILENO)) set_progress_listener(draw_bar);
  else set_progress_listener({});
}

void print_stats() {
  for (auto const& p : phase_totals()) fmt::print(stderr, "{:<28} {:>12.3f} s {:>10} x\n", p.name, p.seconds, p.times);
  for (auto const& c : counter_values()) fmt::print(stderr, "{:<28} {:>14}\n", c.name, grouped(c.value));
}

}  // namespace garner::cli
