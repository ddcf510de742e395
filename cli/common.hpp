// What every verb of the program shares: writing to standard output so that a full disk is noticed, numbers for people, names of places.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "garner/graph.hpp"

namespace garner::cli {

// Standard output could not be written. Quiet where the reader has gone (a closed pipe): that is no news to the user.
struct output_error {
  int code;
};

void write_out(std::string_view text);
void flush_out();  // throws output_error

template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  write_out(fmt::format(text, std::forward<Args>(args)...));
}

std::string grouped(std::uint64_t n);  // 1,234,567

// "LOW:HIGH" of --weights (whole numbers) or --weights-f32; errc::usage otherwise.
void parse_weight_range(std::string const& option, std::string const& text, weight_kind kind, build_options::random_weights& to);

// What drawing a bar takes: only on a terminal, never with --quiet.
void show_progress(bool wanted);
void print_stats();  // phases and counters, on stderr

}  // namespace garner::cli
