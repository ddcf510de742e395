// The command line of `garner` and of `garner-lab`: verbs and their options, in the one vocabulary of option_table.cpp. No parser's header
// is needed here; only options.cpp includes the parser (CLI11), since its header takes longer to compile than most verbs. Invariant: an
// option means the same, takes the same and stands in the same group in every verb that has it; a verb may say more exactly what it does
// there.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace garner::cli {

enum class option_group : std::uint8_t {
  basic,     // what a user needs: --help
  advanced,  // what an expert tunes: --help-all, as all that follows
  paper,     // baselines and ablations of the papers: `garner-lab run` alone has them
};

// A row of the table.
struct option_row {
  std::string_view name;   // "--device", "-o,--out", "FILE" (by its position)
  std::string_view takes;  // "DEVICE"; empty: a flag
  option_group group;
  std::string_view help;
};
option_row const& row_of(std::string_view name);  // errc::internal where the table has none
// The words that an option takes, separated by spaces, for completion in shells; empty if any value may be passed. `papers`: those that
// `garner-lab run` alone takes. An option that has both takes no other words.
struct words_taken {
  std::string_view users, papers = "";
};
bool is_word(std::string_view word, std::string_view of);  // of such words
words_taken values_of(std::string_view name);

// An option or a value that had another name before 0.1.0. Both are still accepted; help, completions and pages do not show the old one.
struct old_name {
  std::string_view was, is;
};
std::span<old_name const> old_options();
std::span<old_name const> old_values(std::string_view name);  // of the option that has this name now
// Whether only the papers' figures use an option, or a value of it, that no verb has: garner-lab's verbs of figures do.
bool is_of_figures(std::string_view option, std::string_view value);

// One option of one verb. `set` gets the words that were given and returns what is wrong with them, or nothing.
struct option {
  option_row row;
  std::string help, fallback;  // fallback: the default, shown
  words_taken values;
  std::function<std::string(std::vector<std::string> const&)> set;
  bool is_required = false, is_flag = false, is_list = false, may_repeat = false;
  std::vector<std::string> excluded;

  option& required() { return is_required = true, *this; }
  option& not_with(std::string other) { return excluded.push_back(std::move(other)), *this; }
  option& repeats() { return may_repeat = true, *this; }  // a list whose items are words of their own
  option& in(option_group g) { return row.group = g, *this; }
  // Where a verb takes others than the table says.
  option& among(std::string_view these, std::string_view papers = "") { return values = {these, papers}, *this; }
  std::string words() const;  // of `values`, those that this program takes
};

bool by_position(option const& o);
std::string shown_default(option const& o);  // what help shows of the default: nothing where the words say it

std::string not_a_count(std::string const& text, std::uint64_t most);  // what is wrong with it, or nothing
std::string set_number(std::string const& text, double& to);
std::string shown(double value);

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
std::string set_value(std::string const& text, T& to) {
  if constexpr (is_optional<T>) {
    typename T::value_type value{};
    std::string wrong = set_value(text, value);
    if (wrong.empty()) to = std::move(value);
    return wrong;
  } else if constexpr (std::is_same_v<T, std::string>) {
    to = text;
    return "";
  } else if constexpr (std::is_floating_point_v<T>) {
    return set_number(text, to);
  } else {
    std::string wrong = not_a_count(text, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
    if (wrong.empty()) to = static_cast<T>(std::stoull(text));
    return wrong;
  }
}
template <class T>
std::string show_value(T const& value) {
  if constexpr (is_optional<T>) {
    return "";
  } else if constexpr (is_vector<T>) {
    std::string all;
    for (auto const& v : value) all += (all.empty() ? "" : ",") + show_value(v);
    return all;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value == 0 ? "" : shown(value);
  } else {
    return value == 0 ? "" : std::to_string(value);
  }
}

class verb {
 public:
  verb(std::string name, std::string about) : name_(std::move(name)), about_(std::move(about)) {}

  // Where the value of an option goes: a string, a whole number from 0 up, a real number, an optional of one of these, a vector of them
  // (words separated by commas), or a bool (a flag). What stands there now is the default. `help`: more exact than the table's words.
  template <class T>
  option& add(std::string_view name, T& to, std::string help = "") {
    option& o = make(name, std::move(help));
    if constexpr (std::is_same_v<T, bool>) {
      o.is_flag = true;
      o.set = [&to](auto const&) { return to = true, std::string(); };
    } else if constexpr (is_vector<T>) {
      o.is_list = true;
      o.fallback = show_value(to);
      o.set = [&to](std::vector<std::string> const& words) {
        to.clear();
        for (std::string const& w : words)
          if (std::string wrong = set_value(w, to.emplace_back()); !wrong.empty()) return wrong;
        return std::string();
      };
    } else {
      o.fallback = show_value(to);
      o.set = [&to](std::vector<std::string> const& words) { return set_value(words.back(), to); };
    }
    return o;
  }
  void ends_with(std::string text) { footer_ = std::move(text); }  // an example
  void runs(std::function<void()> f) { run_ = std::move(f); }

  std::string const& name() const { return name_; }
  std::string const& about() const { return about_; }
  std::string const& footer() const { return footer_; }
  std::list<option> const& options() const { return options_; }
  bool papers_have(std::string_view name) const;  // it is an option of `garner-lab run` here
  void run() const { run_(); }

 private:
  option& make(std::string_view name, std::string help);
  std::string name_, about_, footer_;
  std::list<option> options_, of_papers_;  // of_papers_: declared, and not in this program
  std::function<void()> run_;
};

class program {
 public:
  verb& add(std::string name, std::string about) { return verbs_.emplace_back(std::move(name), std::move(about)); }
  template <class T>
  void add_to_all(std::string_view name, T& to) {
    for (verb& v : verbs_) v.add(name, to);
  }
  std::list<verb> const& verbs() const { return verbs_; }

  // Parses and runs a verb; errc::usage where the command line is wrong. `before` runs once the line is known to be right.
  void run(int argc, char** argv, std::function<void()> const& before) const;
  std::string reference() const;  // docs/reference/options.md; `garner --reference` prints it

 private:
  std::list<verb> verbs_;
};

// What a program is, and has in addition to what all have.
struct program_of {
  std::string name, about, footer;
  std::vector<void (*)(program&)> verbs;
  std::string_view json_keys;                             // as schema.hpp has them
  std::span<option_row const> options = {};               // of its own, besides the common table
  bool (*prints)(program const&, int, char**) = nullptr;  // other words than verbs: whether it did
  bool has_papers = false;                                // options and values of the papers' ways
  std::string version() const;
};
program_of const& this_program();
// Adds the verbs, runs one, and turns what it threw into one line on standard error and an exit code: 0 done, 1 failed, 2 the command line
// is invalid. Ctrl-C stops the work, which then removes its temporary files; a second one ends the program at once.
int run_program(program_of const& what, int argc, char** argv);

}  // namespace garner::cli
