#include "common.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "garner/convert.hpp"
#include "garner/handle.hpp"
#include "garner/memory.hpp"
#include "garner/progress.hpp"

namespace garner::cli {

namespace {
bool output_is_for_the_result = false;

void write_to(std::FILE* to, std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), to) != text.size()) throw output_error{errno};
}
}  // namespace

void write_out(std::string_view text) { write_to(output_is_for_the_result ? stderr : stdout, text); }
void say_on_standard_error() { output_is_for_the_result = true; }
void write_result(std::string_view part) { write_to(stdout, part); }

void flush_out() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw output_error{errno};
}

std::string& command_line() {
  static std::string line;
  return line;
}

int complain(int code, std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && (message.back() == ' ' || message.back() == '.')) message.pop_back();
  fmt::print(stderr, "{}: {}\n", this_program().name, message);
  return code;
}
int complain(error const& e) {
  return complain(e.code() == errc::usage ? 2 : 1, e.code() == errc::memory ? with_flags(e.what()) : e.what());
}

std::string with_flags(std::string message) {
  for (auto const& [budget, flag] : {std::pair<std::string, std::string>{"raise the host budget", " (--memory-limit)"},
                                     std::pair<std::string, std::string>{"raise its budget", " (--device-memory)"}})
    if (std::size_t const at = message.find(budget); at != std::string::npos && message.compare(at + budget.size(), flag.size(), flag) != 0)
      message.insert(at + budget.size(), flag);
  return message;
}

std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == unlimited_bytes) return "unlimited";
  static constexpr std::array<char const*, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t u = 0;
  while (value >= 1023.95 && u + 1 < units.size()) value /= 1024, ++u;
  return u == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[u]);
}

std::string shown(std::string_view word) {
  std::string text = "'";
  for (char const c : word.substr(0, 40))
    text += c >= 0x20 && c < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text + (word.size() > 40 ? "...'" : "'");
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t const n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
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
  fmt::print(stderr, "\r\033[K{} [{:<30}] {:3.0f} %", what, std::string(filled, '#'),
             100.0 * static_cast<double>(done) / static_cast<double>(total));
  std::fflush(stderr);
}

}  // namespace

std::string describe(graph_info const& g, std::uint64_t loops) {
  return fmt::format("{} vertices, {} edges ({}), {}-byte ids, {}{}", grouped(g.vertices), grouped(g.edges),
                     g.directed ? g.in_edges   ? "directed, with in-edges"
                                  : g.reversed ? "directed, in-edges alone"
                                               : "directed"
                     : loops    ? fmt::format("undirected: each counts twice, {} loop{} once", grouped(loops), loops == 1 ? "" : "s")
                                : "undirected: each counts twice",
                     g.id_bytes,
                     g.weights == weight_kind::none  ? "no weights"
                     : g.weights == weight_kind::u32 ? "u32 weights"
                                                     : "f32 weights",
                     g.order == vertex_order::natural ? "" : fmt::format(", in {} order", to_string(g.order)));
}

void say_made(char const* made, double ms, std::string const& more) {
  say("{}: not in the file; {}built in {:.1f} ms (garner convert --in-edges stores them)\n", made, more, ms);
}

void weight_arguments::add(verb& v) {
  v.add("--random-weights", whole);
  v.add("--random-weights-f32", real).not_with("--random-weights");
  v.add("--weight-seed", seed);
}

std::optional<build_options::weight_options> weight_arguments::parse() const {
  if (whole.empty() && real.empty()) return std::nullopt;
  build_options::weight_options drawn;
  drawn.kind = real.empty() ? weight_kind::u32 : weight_kind::f32;
  drawn.seed = seed;
  std::string const& text = real.empty() ? whole : real;
  std::size_t const colon = text.find(':');
  bool ok = colon != std::string::npos && number(std::string_view(text).substr(0, colon), drawn.low) &&
            number(std::string_view(text).substr(colon + 1), drawn.high) && 0 <= drawn.low && drawn.low <= drawn.high;
  if (drawn.kind == weight_kind::u32)
    ok = ok && drawn.high <= 4294967295.0 && drawn.low == std::floor(drawn.low) && drawn.high == std::floor(drawn.high);
  if (!ok)
    fail(errc::usage, "--random-weights{} {}: not a range; use LOW:HIGH, {}", real.empty() ? "" : "-f32", text,
         real.empty() ? "whole numbers from 0 to 4294967295, as 1:255" : "numbers from 0 up, as 0:1");
  return drawn;
}

void require_id_bytes(std::uint32_t id_bytes) {
  if (id_bytes != 0 && id_bytes != 4 && id_bytes != 8) fail(errc::usage, "--id-bytes {}: use 4 or 8", id_bytes);
}

void budget_arguments::add(verb& v, bool with_device) {
  v.add("--memory-limit", host);
  if (with_device) v.add("--device-memory", device);
}

void budget_arguments::apply(execution_device where) const {
  if (!host.empty()) limit_host_memory(parse_bytes(host));
  bool const on_device = where.kind == device_kind::cuda;
  if (!device.empty() && !on_device)
    fail(errc::usage, "--device-memory {}: {} takes no GPU memory; leave it out or use --device cuda", device, to_string(where));
  if (!on_device) return;
  self_test(where.index);
  if (!device.empty()) limit_device_memory(where.index, parse_bytes(device));
}

void warn_without_gpu(execution_device where, std::vector<std::pair<char const*, std::string>> const& option_and_value) {
  for (auto const& [option, value] : option_and_value)
    if (where.kind == device_kind::cpu && value.find_first_of("123456789") != std::string::npos)
      complain(0, fmt::format(
                      "{} {} has no effect on the CPU, which has no GPU memory; use --device cuda (`garner doctor` reports whether a GPU "
                      "can be used), or leave it out",
                      option, value));
}

std::uint64_t device_limit(execution_device where) { return most_on_device(where.index); }

std::string why_not(std::string const& what, bytes_needed const& needed, bytes_needed const& allowed, std::string const& device,
                    std::string const& instead, char const* instead_of_host) {
  if (needed.host > allowed.host)
    return fmt::format(
        "{}: needs about {} ({} bytes) of host memory and {} ({} bytes) are allowed; raise the host budget, {} or a larger machine", what,
        format_bytes(needed.host), needed.host, format_bytes(allowed.host), allowed.host,
        instead_of_host ? fmt::format("{}, take a smaller graph", instead_of_host) : "take a smaller graph");
  if (needed.device > allowed.device)
    return fmt::format("{}: needs about {} ({} bytes) of {} and {} ({} bytes) are allowed or free; raise its budget or {}", what,
                       format_bytes(needed.device), needed.device, device, format_bytes(allowed.device), allowed.device, instead);
  return "";
}

void require_memory(std::string const& what, std::uint64_t host_bytes, std::uint64_t device_bytes, execution_device where,
                    char const* instead, char const* instead_of_host) {
  bytes_needed const allowed{host_memory_use().limit, device_bytes ? device_limit(where) : 0};
  std::string const refusal = why_not(what, {host_bytes, device_bytes}, allowed, to_string(where), instead, instead_of_host);
  if (!refusal.empty()) fail(errc::memory, "{}", refusal);
}

void require_on_peer(std::string const& what, std::uint64_t bytes, execution_device where) {
  require_memory(what, 0, bytes, {device_kind::cuda, owner_of_peer_tier(where.index)}, "leave the edges in host memory (--tier host)");
}

void check_outputs(std::string const& input, std::vector<std::pair<char const*, std::string>> const& option_and_file) {
  for (std::size_t i = 0; i < option_and_file.size(); ++i) {
    auto const& [option, name] = option_and_file[i];
    if (name.empty()) continue;
    check_target(name);
    if (std::error_code none; std::filesystem::equivalent(name, input, none))
      fail(errc::usage, "{}: is the graph itself; write to another file", name);
    for (std::size_t k = 0; k < i; ++k)
      if (option_and_file[k].second == name)
        fail(errc::usage, "{}: {} and {} name the same file; name two", name, option_and_file[k].first, option);
  }
}

void show_progress(bool wanted) {
  if (wanted && isatty(STDERR_FILENO)) set_progress_listener(draw_bar);
  else set_progress_listener({});
}

void print_stats() {
  for (auto const& p : phase_totals()) fmt::print(stderr, "{:<28} {:>12.3f} s {:>10} x\n", p.name, p.seconds, p.times);
  for (auto const& c : counter_values()) fmt::print(stderr, "{:<28} {:>14}\n", c.name, grouped(c.value));
  fmt::print(stderr, "{:<28} {:>14}\n", "memory.host_peak", grouped(host_memory_use().peak));
  for (int d = 0; d < 16; ++d)
    if (memory_use const use = device_memory_use(d); use.peak) {
      fmt::print(stderr, "{:<28} {:>14}\n", fmt::format("memory.device_{}_peak", d), grouped(use.peak));
      fmt::print(stderr, "{:<28} {:>14}\n", fmt::format("memory.device_{}_driver", d), grouped(use.driver_peak));
    }
}

}  // namespace garner::cli
