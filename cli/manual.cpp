// The manual page and the completions of shells, written from the verbs and options that the program has: `garner man`, `garner
// completion`.
#include <fmt/format.h>

#include "command/common.hpp"
#include "verbs.hpp"

namespace garner::cli {

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) text.replace(at, what.size(), with);
  return text;
}

// --- roff ---
std::string roff(std::string const& text) {
  std::string const plain = replaced(replaced(replaced(text, "\\", "\\e"), "-", "\\-"), ",", ",\\:");  // a long list may be broken
  return plain.starts_with('.') || plain.starts_with('\'') ? "\\&" + plain : plain;
}
std::string bold(std::string_view text) { return "\\fB" + roff(std::string(text)) + "\\fR"; }
std::string sentence(std::string text) { return text.empty() || text.ends_with('.') ? text : text + "."; }
std::string lines(std::string const& text) {  // as they stand: an example
  std::string all = ".nf\n";
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\n', at), text.size());
    all += roff(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return all + ".fi\n";
}

// --- shells ---
std::vector<std::string> names_of(option const& o) {  // "-o,--out": both
  std::vector<std::string> names;
  std::string_view rest = o.row.name;
  for (std::size_t comma = 0; comma != rest.npos; rest.remove_prefix(comma == rest.npos ? 0 : comma + 1)) {
    comma = rest.find(',');
    names.emplace_back(rest.substr(0, comma));
  }
  return names;
}
bool is_completed(option const& o) { return !by_position(o); }
std::string in_quotes(std::string const& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }
std::string of_zsh(std::string const& text) {  // within the brackets of _arguments, or behind the name of _describe
  return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]"), ":", "\\:");
}

// What stands behind an option: words of its own, a file, a folder, or nothing that a shell knows.
enum class value_kind { words, file, folder, unknown };
value_kind kind_of(option const& o) {
  if (!o.values.users.empty()) return value_kind::words;
  if (o.row.takes == "FOLDER") return value_kind::folder;
  for (std::string_view const takes : {"N", "BYTES", "X", "T", "D", "P", "S", "V", "SECONDS", "LOW:HIGH", "PS,DIST,WPB", "SHARE", "NAME"})
    if (o.row.takes == takes) return value_kind::unknown;
  return value_kind::file;
}
option const* first_position(verb const& v) {
  for (option const& o : v.options())
    if (by_position(o)) return &o;
  return nullptr;
}
std::string names_of_verbs(program const& p) {
  std::string all;
  for (verb const& v : p.verbs()) all += (all.empty() ? "" : " ") + v.name();
  return all;
}

std::string for_bash(program const& p) {
  std::string const verbs = names_of_verbs(p);
  std::string cases;
  for (verb const& v : p.verbs()) {
    std::string options = "--help --help-all", words, of_kind[4];
    for (option const& o : v.options()) {
      if (!is_completed(o)) continue;
      std::string all;
      for (std::string const& name : names_of(o)) all += (all.empty() ? "" : "|") + name;
      options += " " + replaced(all, "|", " ");
      if (o.is_flag) continue;
      if (kind_of(o) == value_kind::words) {
        words += fmt::format("        {}) values={} ;;\n", all, in_quotes(std::string(o.values.users)));
      } else {
        std::string& same = of_kind[static_cast<std::size_t>(kind_of(o))];
        same += (same.empty() ? "" : "|") + all;
      }
    }
    for (auto const& [kind, name] : {std::pair(value_kind::file, "file"), {value_kind::folder, "folder"}, {value_kind::unknown, "unknown"}})
      if (std::string const& same = of_kind[static_cast<std::size_t>(kind)]; !same.empty())
        words += fmt::format("        {}) kind={} ;;\n", same, name);
    cases += fmt::format("    {}) options={}\n", v.name(), in_quotes(options));
    if (option const* const o = first_position(v); o && !o->values.users.empty())
      cases += fmt::format("      if [[ $COMP_CWORD == 2 && $word != -* ]]; then values={}; fi\n", in_quotes(std::string(o->values.users)));
    cases += fmt::format("      case $before in\n{}      esac ;;\n", words);
  }
  return fmt::format(
      R"(# Completion of garner for bash, as `garner completion bash` prints it. Where nothing is completed here, readline completes files.
_garner() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= values= kind=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W {0} -- "$word"))
    return
  fi
  if [[ $word == = ]]; then  # --device=
    word=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  case ${{COMP_WORDS[1]}} in
    help) values={1} ;;
    completion) values='bash zsh' ;;
{2}  esac
  if [[ $kind == folder ]]; then
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -d -- "$word"))
  elif [[ $kind == unknown ]]; then  # a number: no files
    compopt +o default 2> /dev/null
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* && $kind != file ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}}
complete -o default -F _garner garner
)",
      in_quotes("--help --version help man completion " + verbs), in_quotes(verbs), cases);
}

std::string zsh_action(option const& o) {
  switch (kind_of(o)) {
    case value_kind::words:
      return fmt::format("({})", o.values.users);
    case value_kind::folder:
      return "_files -/";
    case value_kind::unknown:
      return " ";  // a message alone
    case value_kind::file:
      break;
  }
  return "_files";
}

std::string for_zsh(program const& p) {
  std::string verbs = "    'help:the same as --help'\n    'man:print the manual page'\n    'completion:print what a shell completes'\n";
  std::string cases = fmt::format(
      "    help)\n      _arguments '1:verb:({})' ;;\n    completion)\n      _arguments '1:shell:(bash zsh)' ;;\n", names_of_verbs(p));
  for (verb const& v : p.verbs()) {
    verbs += fmt::format("    {}\n", in_quotes(v.name() + ":" + of_zsh(v.about())));
    cases += fmt::format("    {})\n      _arguments '--help[print this help]' '--help-all[with advanced options]'", v.name());
    for (option const& o : v.options()) {
      if (!is_completed(o)) continue;
      for (std::string const& name : names_of(o)) {
        std::string const value = o.is_flag ? "" : ":" + of_zsh(std::string(o.row.takes)) + ":" + zsh_action(o);
        cases += " \\\n        " + in_quotes((o.may_repeat ? "*" : "") + name + "[" + of_zsh(o.help) + "]" + value);
      }
    }
    if (option const* const o = first_position(v); o && !o->values.users.empty())
      cases += fmt::format(" \\\n        '1:{}:{}'", o->row.name, zsh_action(*o));
    cases += " \\\n        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef garner
# Completion of garner for zsh, as `garner completion zsh` prints it.
_garner() {{
  local -a verbs
  verbs=(
{}  )
  if (( CURRENT == 2 )); then
    _describe -t verbs verb verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
_garner "$@"
)",
                     verbs, cases);
}

}  // namespace

std::string completion(program const& p, std::string_view shell) {
  if (shell == "bash") return for_bash(p);
  if (shell == "zsh") return for_zsh(p);
  fail(errc::usage, "no completion for '{}'; use garner completion bash, or zsh", shell);
}

std::string manual(program const& p, std::string const& version) {
  std::string page = fmt::format(R"(.TH GARNER 1 "" {} "User Commands"
.ad l
.nh
.SH NAME
garner \- graphs and features larger than the memory of the GPU
.SH SYNOPSIS
.B garner
.I VERB
.RI [ OPTIONS ]
.SH DESCRIPTION
Garner trains GNNs and runs graph algorithms on graphs and feature tables that do not fit in the memory of the GPU.
.B garner help VERB
and
.B garner VERB \-\-help
print the options of daily use,
.B \-\-help\-all
all of them.
.SH EXIT STATUS
0: done. 1: failed, and one line on standard error says why. 2: the command line is invalid.
.SH VERBS
)",
                                 "\"" + roff(version) + "\"");
  for (verb const& v : p.verbs()) {
    std::string positions;
    for (option const& o : v.options())
      if (by_position(o)) positions += fmt::format(" {}{}", o.row.name, o.is_list ? "..." : "");
    page += fmt::format(".SS garner {}{} [OPTIONS]\n{}\n", roff(v.name()), roff(positions), roff(sentence(v.about())));
    for (option const& o : v.options()) {
      std::string const takes = o.row.takes.empty() ? "" : " \\fI" + roff(std::string(o.row.takes)) + "\\fR";
      std::string const fallback = shown_default(o);
      page += fmt::format(".TP\n{}{}\n{}\n", bold(replaced(std::string(o.row.name), ",", ", ")), takes,
                          roff(sentence(o.help + (fallback.empty() ? "" : fmt::format(" (default: {})", fallback)))));
    }
    if (!v.footer().empty()) page += ".PP\n" + lines(v.footer());
  }
  return page;
}

}  // namespace garner::cli
