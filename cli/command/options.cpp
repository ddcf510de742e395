// Verbs and options: declared to CLI11, and read back from it.
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "common.hpp"
#include "garner/build.hpp"
#include "schema.hpp"

namespace garner::cli {

std::string not_a_count(std::string const& text, std::uint64_t most) {
  std::uint64_t value = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc{} && end == text.data() + text.size() && value <= most) return "";
  return fmt::format("'{}' is not a whole number from 0 to {}", text, most);
}

std::string set_number(std::string const& text, double& to) {
  double value = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return fmt::format("'{}' is not a number", text);
  to = value;
  return "";
}

std::string shown(double value) { return fmt::format("{:g}", value); }

bool is_word(std::string_view word, std::string_view of) {
  return !word.empty() && fmt::format(" {} ", of).find(fmt::format(" {} ", word)) != std::string::npos;
}

bool by_position(option const& o) { return o.row.name[0] != '-'; }
std::string shown_default(option const& o) {
  return o.fallback.empty() || o.is_flag || o.help.find("(default") != std::string::npos ? "" : o.fallback;
}

option& verb::make(std::string_view name, std::string help) {
  option_row const& row = row_of(name);
  option& o = (row.group == option_group::paper && !this_program().has_papers ? of_papers_ : options_).emplace_back();
  o.row = row;
  o.help = help.empty() ? std::string(o.row.help) : std::move(help);
  o.values = values_of(name);
  return o;
}

bool verb::papers_have(std::string_view name) const {
  return std::any_of(of_papers_.begin(), of_papers_.end(), [&](option const& o) { return o.row.name == name; });
}

std::string option::words() const {
  bool const both = this_program().has_papers && !values.papers.empty();
  return fmt::format("{}{}{}", values.users, both ? " " : "", both ? values.papers : "");
}

namespace {

char const* const group_names[] = {"Options", "Advanced", "Baselines and ablations"};

constexpr std::size_t help_column = 34, help_width = 120;

// Help says what an option takes and its default, and leaves what excludes what to the error message.
class help_formatter : public CLI::Formatter {
 public:
  help_formatter() { column_width(help_column); }
  std::string make_option_opts(CLI::Option const* o) const override {
    if (o->get_type_size() == 0 || o->get_positional()) return "";
    return " " + o->get_type_name() + (o->get_default_str().empty() ? "" : " (" + o->get_default_str() + ")");
  }
};

// No two empty lines in a row, and no line beyond the width: the words of an option go on below where they began.
std::string tidy(std::string const& help) {
  std::string text;
  std::size_t empty = 0;
  for (std::size_t at = 0; at < help.size();) {
    std::size_t const end = std::min(help.find('\n', at), help.size());
    std::string line = help.substr(at, end - at);
    at = end + 1;
    empty = line.empty() ? empty + 1 : 0;
    if (empty > 1) continue;
    while (line.size() > help_width) {
      std::size_t const cut = line.rfind(' ', help_width);
      if (cut == line.npos || cut <= help_column) break;
      text += line.substr(0, cut) + "\n";
      line = std::string(help_column, ' ') + line.substr(cut + 1);
    }
    text += line + "\n";
  }
  return text;
}

struct parsed_verb {
  verb const* what;
  CLI::App* app;
  std::map<option const*, CLI::Option*> options;
};

// `all`: groups beyond the basic one stand in the help.
void declare(parsed_verb& v, CLI::App& app, bool all) {
  v.app = app.add_subcommand(v.what->name(), v.what->about());
  bool more = false;
  for (option const& o : v.what->options()) {
    auto const set = o.set;
    CLI::callback_t take = [set, &o](std::vector<std::string> const& words) {
      std::string const wrong = set(words);
      if (!wrong.empty()) throw CLI::ValidationError(std::string(o.row.name), wrong);
      return true;
    };
    std::string const name(o.row.name);
    std::string const help =
        this_program().has_papers && !o.values.papers.empty() ? fmt::format("{}; of the papers: {}", o.help, o.values.papers) : o.help;
    CLI::Option* made = nullptr;
    if (o.is_flag) {
      made = v.app->add_flag_function(
          name, [set](std::int64_t) { set({}); }, help);
    } else {
      made = v.app->add_option(name, take, help);
      if (o.is_list) {
        made->expected(1, o.may_repeat && by_position(o) ? 1 << 20 : 1)->allow_extra_args(o.may_repeat && by_position(o));
        if (!o.may_repeat) made->delimiter(',');
        made->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      }
      if (!by_position(o)) made->type_name(std::string(o.row.takes));
      made->default_str(shown_default(o));
    }
    if (o.is_required) made->required();
    bool const shown_here = o.row.group == option_group::basic || all;
    if (by_position(o)) made->group("Positionals");
    else made->group(shown_here ? group_names[static_cast<int>(o.row.group)] : "");
    more |= !shown_here;
    v.options[&o] = made;
  }
  for (option const& o : v.what->options())
    for (std::string const& other : o.excluded)
      for (option const& p : v.what->options())
        if (p.row.name == other) v.options[&o]->excludes(v.options[&p]);
  v.app
      ->add_flag_function(
          "--help-all", [](std::int64_t) {},
          this_program().has_papers ? "print this help with advanced options, baselines and ablations"
                                    : "print this help with advanced options")
      ->group(all ? "" : "Options");
  v.app->footer((more ? "--help-all lists the other options.\n" : "") + v.what->footer());
}

[[noreturn]] void refer_to_lab(std::string_view what) {
  fail(errc::usage, "{} belongs to garner-lab, which `make lab` builds from the sources", what);
}

// errc::usage for an option or a value that only the papers' figures use, and, of an option that has some, for a word that it does not
// take.
void check_words(verb const& v, std::string_view name, std::string_view value) {
  bool const with_papers = this_program().has_papers;
  if (!with_papers && (v.papers_have(name) || is_of_figures(name, ""))) refer_to_lab(name);
  for (option const& o : v.options()) {
    if (o.row.name != name || value.empty()) continue;
    if (!with_papers && (is_word(value, o.values.papers) || is_of_figures(name, value))) refer_to_lab(fmt::format("{} {}", name, value));
    if (o.values.papers.empty() || o.values.users.empty() || is_word(value, o.words())) continue;
    std::string choices;
    std::istringstream all(o.words());
    std::vector<std::string> const each{std::istream_iterator<std::string>(all), {}};
    for (std::size_t k = 0; k < each.size(); ++k) choices += (k == 0 ? "" : k + 1 < each.size() ? ", " : " or ") + each[k];
    fail(errc::usage, "{} {}: use {}", name, value, choices);
  }
}

// The words of a command line with the old names of options and values replaced. A line on standard error names each new option once.
std::vector<std::string> with_new_names(verb const& v, std::vector<std::string> words) {
  auto const has = [&](std::string_view name) {
    return std::any_of(v.options().begin(), v.options().end(), [&](option const& o) { return o.row.name == name; });
  };
  auto const renew = [](std::string& value, std::string_view name) {
    std::size_t const end = std::min(value.find(':'), value.size());  // device:1
    for (old_name const& old : old_values(name))
      if (std::string_view(value).substr(0, end) == old.was) return void(value.replace(0, end, old.is));
  };
  std::set<std::string> noted;
  for (std::size_t k = 0; k < words.size(); ++k) {
    std::string& word = words[k];
    if (!word.starts_with("--")) continue;
    std::size_t const end = std::min(word.find('='), word.size());
    std::string name = word.substr(0, end);
    for (old_name const& old : old_options())
      if (old.was == name && !has(name) && has(old.is)) {
        if (noted.insert(name).second) fmt::print(stderr, "{}: {} is now {}\n", this_program().name, old.was, old.is);
        name = old.is;
        break;
      }
    bool const joined = end < word.size();
    std::string value = joined ? word.substr(end + 1) : "";
    renew(value, name);
    if (!joined && k + 1 < words.size()) renew(words[k + 1], name);
    check_words(v, name, joined ? value : k + 1 < words.size() ? words[k + 1] : "");
    word = joined ? name + "=" + value : name;
  }
  return words;
}

bool asks_for_all(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help-all") return true;
  return false;
}

}  // namespace

void program::run(int argc, char** argv, std::function<void()> const& before) const {
  std::string const& name = this_program().name;
  auto const is_verb = [&](std::string_view word) {
    return std::any_of(verbs_.begin(), verbs_.end(), [&](verb const& v) { return v.name() == word; });
  };
  // For packages: neither help nor reference shows these.
  std::string_view const first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--reference") return write_out(reference());
  if (argc == 3 && first == "schema" && std::string_view(argv[2]) == "--reference") return write_out(json_reference());
  if (first == "help" && (argc == 2 || (argc == 3 && is_verb(argv[2])))) {  // garner help VERB is garner VERB --help
    std::string help = "--help";
    char* words[] = {argv[0], help.data(), nullptr};
    if (argc == 3) words[1] = argv[2], words[2] = help.data();
    return run(argc, words, before);
  }
  CLI::App app{name + ": " + this_program().about, name};
  app.set_version_flag("--version", this_program().version() + (has_gpu_support() ? " (with GPU support)" : " (without GPU support)"));
  app.require_subcommand(1);
  app.formatter(std::make_shared<help_formatter>());
  bool const all = asks_for_all(argc, argv);
  std::list<parsed_verb> parsed;
  for (verb const& v : verbs_) declare(parsed.emplace_back(parsed_verb{&v, nullptr, {}}), app, all);
  app.footer(this_program().footer);
  auto const names = [&] {
    std::string text;
    for (verb const& v : verbs_) text += (text.empty() ? "" : ", ") + v.name();
    return text;
  };
  if (!first.empty() && first[0] != '-' && !is_verb(first) && (first != "help" || argc > 2)) {
    std::string_view const word = first == "help" ? argv[2] : first;
    for (std::string_view const moved : {"bench", "report", "traffic", "trace"})
      if (name == "garner" && word == moved) refer_to_lab(fmt::format("'{}'", word));
    fail(errc::usage, "'{}' is not a verb; pass one of {}, or --help", word, names());
  }
  parsed_verb const* asked = nullptr;
  try {
    if (all) {  // as --help, so that nothing is required
      for (parsed_verb const& v : parsed)
        for (int i = 1; i < argc; ++i)
          if (v.what->name() == argv[i]) return write_out(tidy(v.app->help(name)));
      return write_out(tidy(app.help()));
    }
    std::vector<std::string> words(argv + 1, argv + argc);
    for (verb const& v : verbs_)
      if (v.name() == first) words = with_new_names(v, std::move(words));
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
    for (parsed_verb const& v : parsed)
      if (v.app->parsed()) asked = &v;
  } catch (CLI::CallForHelp const&) {
    return write_out(tidy(app.help()));
  } catch (CLI::CallForVersion const& e) {
    return write_out(std::string(e.what()) + "\n");
  } catch (CLI::ParseError const& e) {
    for (parsed_verb const& v : parsed)
      if (v.app->parsed() || (argc > 1 && v.what->name() == argv[1])) {
        std::string what = e.what();
        if (auto const* const extras = dynamic_cast<CLI::ExtrasError const*>(&e); extras || what.find("not expected") != what.npos) {
          std::vector<std::string> const rest = v.app->remaining();
          std::string words;
          for (std::string const& word : rest) words += (words.empty() ? "" : " ") + word;
          if (!words.empty()) what = fmt::format("not expected: {}", words);
        }
        fail(errc::usage, "{}; see {} {} --help", what, name, v.what->name());
      }
    if (argc < 2) fail(errc::usage, "the command line has no verb; pass one of {}, or --help", names());
    fail(errc::usage, "'{}' is not a verb; pass one of {}, or --help", first, names());
  }
  before();
  asked->what->run();
}

std::string program::reference() const {
  std::string page =
      "# Verbs and options\n\nEvery verb of the program with all its options. `garner VERB --help` prints those of daily use, `--help-all` "
      "all of them.\nThe program wrote this page: `garner --reference > docs/reference/options.md`; a test compares the two.\n";
  for (verb const& v : verbs_) {
    std::string positions;
    for (option const& o : v.options())
      if (by_position(o)) positions += fmt::format(" {}{}", o.row.name, o.is_list ? "..." : "");
    page += fmt::format("\n## {0} {1}\n{2}.\n\n```\n{0} {1}{3} [OPTIONS]\n```\n", this_program().name, v.name(), v.about(), positions);
    for (option_group const g : {option_group::basic, option_group::advanced, option_group::paper}) {
      std::string rows;
      for (option const& o : v.options()) {
        if (o.row.group != g) continue;
        std::string const fallback = shown_default(o);
        rows += fmt::format("| `{}{}` | {}{} |\n", o.row.name, o.row.takes.empty() ? "" : fmt::format(" {}", o.row.takes), o.help,
                            fallback.empty() ? "" : fmt::format(" (default: {})", fallback));
      }
      if (!rows.empty())
        page += fmt::format("\n| {} | |\n|---|---|\n{}", g == option_group::basic ? "option" : group_names[static_cast<int>(g)], rows);
    }
  }
  return page;
}

}  // namespace garner::cli
