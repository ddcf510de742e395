// What every verb of the program shares: writing to standard output so that a full disk is noticed, numbers for people, names of places.
#pragma once
#include <fmt/format.h>
#include <algorithm>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "garner/build.hpp"
#include "garner/error.hpp"
#include "garner/graph.hpp"
#include "options.hpp"

namespace garner::cli {

// Standard output could not be written. After a closed pipe (the reader has ended) the program prints nothing.
struct output_error {
  int code;
};

void write_out(std::string_view text);
void say_on_standard_error();              // from now on: where standard output is the result's
void write_result(std::string_view part);  // to standard output in any case
void flush_out();                          // throws output_error

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  write_out(fmt::format(text, std::forward<Args>(args)...));
}

// Throws garner::error as the library's own fail() does: "WHERE: WHAT with the values; WHAT TO TRY". An object, so that a call never means
// the library's.
inline constexpr struct failing {
  template <class... Args>
  [[noreturn]] void operator()(errc code, fmt::format_string<Args...> text, Args&&... args) const {
    throw error(code, fmt::format(text, std::forward<Args>(args)...));
  }
} fail{};

std::string& command_line();  // as it was called, for results that say how they came about; main() fills it

int complain(int code, std::string message);  // one line on standard error; the code
int complain(error const& e);                 // with the exit code that is its own
std::string with_flags(std::string message);  // the library knows no flags: how its budgets are raised here

std::string grouped(std::uint64_t n);           // 1,234,567
std::string format_bytes(std::uint64_t bytes);  // "8.0 GiB"; "unlimited" of the highest number
std::string shown(std::string_view word);       // as a message may hold it: in quotes, shortened, unprintable bytes as \xNN
double median(std::vector<double> values);      // of an even number: the mean of the two in the middle; 0 of none

// The line on the direction that loading a graph built.
void say_made(char const* made, double ms, std::string const& more = "");
// `loops`: kept, where that is known: one stands once, also in an undirected graph.
std::string describe(graph_info const& info,
                     std::uint64_t loops = 0);  // "16 vertices, 40 edges (undirected: each counts twice), 4-byte ids, no weights"

// --random-weights LOW:HIGH, --random-weights-f32 LOW:HIGH, --weight-seed
struct weight_arguments {
  std::string whole, real;
  std::uint64_t seed = 1;
  void add(verb& v);
  std::optional<build_options::weight_options> parse() const;  // errc::usage if a range is not one
};

void require_id_bytes(std::uint32_t id_bytes);  // 0 (unset), 4 or 8

// --memory-limit, --device-memory
struct budget_arguments {
  std::string host, device;
  void add(verb& v, bool with_device);
  void apply(execution_device where) const;  // sets the limits; for a device also makes sure that it is there and reads host memory rightly
};
// A warning for each of these options (with its value) that limits device memory, if the CPU runs the work.
void warn_without_gpu(execution_device where, std::vector<std::pair<char const*, std::string>> const& option_and_value);
// Bytes that may be allocated now on the device `where`: its budget, or what is free.
std::uint64_t device_limit(execution_device where);
// Bytes of a device cache of default size, if `taken` of `limit` bytes of the device are needed for the rest.
inline std::uint64_t device_cache_that_fits(std::uint64_t wanted, std::uint64_t limit, std::uint64_t taken) {
  return std::min(wanted, limit - std::min(limit, taken));
}
// The message for an allocation that cannot be satisfied, shared by a plan and the run itself; empty where it can be. `what` needs the
// bytes, `device` is the device's name, `instead` what else to try if it is too small.
struct bytes_needed {
  std::uint64_t host = 0, device = 0;
};
std::string why_not(std::string const& what, bytes_needed const& needed, bytes_needed const& allowed, std::string const& device,
                    std::string const& instead, char const* instead_of_host = nullptr);
// As require_memory, of edges in tier peer: by what the other device has.
void require_on_peer(std::string const& what, std::uint64_t bytes, execution_device where);
// errc::memory with the byte counts and what to try, before anything is taken.
void require_memory(std::string const& what, std::uint64_t host_bytes, std::uint64_t device_bytes, execution_device where,
                    char const* instead = "use --device cpu", char const* instead_of_host = nullptr);

// Files a verb will write, before it starts: each can be written, none is its input, no two are the same. errc::usage or errc::io
// otherwise.
void check_outputs(std::string const& input, std::vector<std::pair<char const*, std::string>> const& option_and_file);

// What drawing a bar takes: only on a terminal, never with --quiet.
void show_progress(bool wanted);
void print_stats();  // phases, counters and the most memory taken, on stderr

}  // namespace garner::cli
