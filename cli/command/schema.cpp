// The verb schema: the table of keys as JSON Schemas, and as the second half of docs/reference/json.md.
#include "schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "common.hpp"

namespace garner::cli {

namespace {

using json = nlohmann::ordered_json;

// What the tables of several programs name.
constexpr char const* shared_keys = R"(
= type tier: 'device'|'peer'|'host'|'managed'|'file'
= type access: 'strided'|'merged'|'aligned'|'bulk'|'paged'|'copied'

= @reads
  requests: int; reads of the drive
  bytes: int; bytes read
  bytes_requested: int; bytes that the algorithm needed
  bytes_of_blocks: int; bytes of the blocks that hold them

= @shares
  overfetch overfetch_of_blocks: num; bytes read, divided by those requested, and by those of their blocks
  share_of_adjacency: num; bytes read, divided by the edge list

= @by_link
  here: num?; this machine's link; null without a GPU
  12.3 24 51: num?; a link of so many GB/s; null where unknown
)";

// A line of the table, and the lines within it.
struct row {
  std::string keys, type, meaning;  // keys "@GROUP": no type
  std::vector<row> rows;
  bool is_group() const { return keys.starts_with('@'); }
};
struct object {
  std::string name, title;  // name: "VERB", "VERB WHICH" or "@GROUP"
  std::vector<row> rows;
  std::string verb() const { return name.substr(0, name.find(' ')); }
};
struct tables {
  std::vector<object> objects, groups;
  std::map<std::string, std::string> types;

  object const& group(std::string const& name) const {
    for (object const& g : groups)
      if (g.name == name) return g;
    fail(errc::internal, "{}: not in the table of JSON keys", name);
  }
};

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + at.size()))
    parts.emplace_back(text.substr(0, end = text.find(at)));
  return parts;
}
// The text before the first `at`, and the rest.
std::pair<std::string, std::string> cut(std::string const& text, std::string_view at) {
  std::size_t const found = text.find(at);
  return found == text.npos ? std::pair(text, std::string()) : std::pair(text.substr(0, found), text.substr(found + at.size()));
}

tables read_table() {
  tables all;
  object* now = nullptr;
  for (std::string const& line : split(std::string(shared_keys) + std::string(this_program().json_keys), "\n")) {
    if (line.empty()) continue;
    if (line.starts_with("= type ")) {
      all.types.insert(cut(line.substr(7), ": "));
    } else if (line.starts_with("= ")) {
      auto [name, title] = cut(line.substr(2), ": ");
      now = &(name[0] == '@' ? all.groups : all.objects).emplace_back(object{std::move(name), std::move(title), {}});
    } else {
      std::size_t const indent = line.find_first_not_of(' ');
      std::vector<row>* rows = &now->rows;
      for (std::size_t depth = 2; depth < indent; depth += 2) rows = &rows->back().rows;
      auto [keys, rest] = cut(line.substr(indent), ": ");
      auto [type, meaning] = cut(rest, "; ");
      rows->push_back({std::move(keys), std::move(type), std::move(meaning), {}});
    }
  }
  return all;
}
tables const& table() {
  static tables const all = read_table();
  return all;
}

bool take_end(std::string& type, std::string_view end) {
  if (!type.ends_with(end) || type == end) return false;
  type.resize(type.size() - end.size());
  return true;
}

// What one of several keys means.
std::string meaning_of(row const& r, std::size_t key, std::size_t keys) {
  std::vector<std::string> const parts = split(r.meaning, "; ");
  return keys > 1 && parts.size() == keys ? parts[key] : r.meaning;
}

json schema_of_rows(std::vector<row> const& rows);

json schema_of(std::string type, std::vector<row> const& rows) {
  if (take_end(type, "?")) {
    json one = schema_of(type, rows);
    if (one.contains("enum")) one["enum"].push_back(nullptr);
    else one["type"] = {one["type"], "null"};
    return one;
  }
  if (take_end(type, "[]")) return {{"type", "array"}, {"items", schema_of(type, rows)}};
  if (take_end(type, "{}")) return {{"type", "object"}, {"additionalProperties", schema_of(type, rows)}};
  if (type == "{}") return schema_of_rows(rows);
  if (auto const named = table().types.find(type); named != table().types.end()) return schema_of(named->second, rows);
  for (auto const& [word, name] : {std::pair("int", "integer"), {"num", "number"}, {"str", "string"}, {"bool", "boolean"}})
    if (type == word) return {{"type", name}};
  json words = json::array();
  for (std::string const& word : split(type, "|"))
    words.push_back(word.starts_with('\'') ? json(word.substr(1, word.size() - 2)) : json::parse(word));
  return {{"enum", words}};
}

void add_rows(std::vector<row> const& rows, json& properties, json& required) {
  for (row const& r : rows) {
    if (r.is_group()) {
      add_rows(table().group(r.keys).rows, properties, required);
      continue;
    }
    std::vector<std::string> keys = split(r.keys, " ");
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (!take_end(keys[k], "?")) required.push_back(keys[k]);
      json one;
      if (std::string const meaning = meaning_of(r, k, keys.size()); !meaning.empty()) one["description"] = meaning;
      one.update(schema_of(r.type, r.rows));
      properties[keys[k]] = std::move(one);
    }
  }
}
json schema_of_rows(std::vector<row> const& rows) {
  json properties = json::object(), required = json::array();
  add_rows(rows, properties, required);
  return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
}

std::string without(std::string text, char c) {
  text.erase(std::remove(text.begin(), text.end(), c), text.end());
  return text;
}

// --- the page ---
std::string shown_type(std::string type) {
  if (take_end(type, "?")) return shown_type(type) + " or null";
  if (take_end(type, "[]")) {
    std::string const of = shown_type(type);
    return "list of " + (of.starts_with("list") ? "lists" + of.substr(4) : of + "s");
  }
  if (take_end(type, "{}")) return "object of " + shown_type(type);
  for (auto const& [word, name] : {std::pair("int", "integer"), {"num", "number"}, {"str", "text"}, {"bool", "boolean"}, {"{}", "object"}})
    if (type == word) return name;
  if (table().types.contains(type)) return type;
  std::string words;
  for (std::string const& word : split(without(type, '\''), "|")) words += (words.empty() ? "`" : ", `") + word + "`";
  return words;
}

std::string rows_of_page(std::vector<row> const& rows, std::string const& dots) {
  std::string text;
  for (row const& r : rows) {
    if (r.is_group()) {
      object const& g = table().group(r.keys);
      std::string anchor = g.title;
      for (char& c : anchor) c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      text += g.title.empty() ? rows_of_page(g.rows, dots)
                              : fmt::format("| {}... | | [{}](#{}) |\n", dots.empty() ? "" : "`" + dots + "`", g.title, anchor);
      continue;
    }
    std::string keys;
    for (std::string const& key : split(r.keys, " ")) keys += fmt::format("{}`{}{}`", keys.empty() ? "" : " ", dots, key);
    text += fmt::format("| {} | {} | {} |\n{}", keys, shown_type(r.type), r.meaning, rows_of_page(r.rows, dots + "."));
  }
  return text;
}

void print_schema(std::string const& verb) {
  if (!verb.empty()) return say("{}", json_schema(verb));
  for (std::string const& one : split(json_verbs(), " ")) say("{}\n", one);
}

}  // namespace

std::string json_verbs() {
  std::string all;
  std::string last;
  for (object const& o : table().objects)
    if (o.verb() != last) all += (all.empty() ? "" : " ") + (last = o.verb());
  return all;
}

std::string json_schema(std::string const& verb) {
  json kinds = json::array();
  for (object const& o : table().objects)
    if (o.verb() == verb) {
      json one = {{"title", without(o.title, '`')}};
      one.update(schema_of_rows(o.rows));
      kinds.push_back(std::move(one));
    }
  if (kinds.empty()) {
    std::string verbs;
    for (std::string const& one : split(json_verbs(), " ")) verbs += (verbs.empty() ? "" : ", ") + one;
    fail(errc::usage, "'{}' writes no JSON; use one of {}", verb, verbs);
  }
  json all = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  if (kinds.size() == 1) all.update(kinds[0]);
  else all["title"] = this_program().name + " " + verb, all["anyOf"] = kinds;
  return all.dump(2) + "\n";
}

std::string json_reference() {
  std::string page =
      "## Keys\n\nThe program wrote the rest of this page: `garner schema --reference`; a test compares the two. A key in an object, or\n"
      "in a list of objects, begins with a dot. `?` marks a key that may be missing.\n\n| type | values |\n|---|---|\n";
  for (auto const& [name, type] : table().types) page += fmt::format("| {} | {} |\n", name, shown_type(type));
  auto const section = [&](std::string const& heading, std::string const& text, std::vector<row> const& rows) {
    page += fmt::format("\n## {}\n\n{}| key | type | meaning |\n|---|---|---|\n{}", heading, text, rows_of_page(rows, ""));
  };
  for (object const& g : table().groups)
    if (!g.title.empty()) section(g.title, "", g.rows);
  for (object const& o : table().objects) section("JSON of " + o.name, o.title + ":\n\n", o.rows);
  return page;
}

void add_schema(program& p) {
  static std::string const verbs = json_verbs();
  auto const verb = std::make_shared<std::string>();
  cli::verb& v = p.add("schema", "the JSON Schema of what a verb prints or writes as JSON");
  v.add("VERB", *verb).among(verbs);
  v.ends_with(fmt::format("Without VERB: the verbs that write JSON. Example: {0} schema {1} > {1}.schema.json", this_program().name,
                          verbs.substr(0, verbs.find(' '))));
  v.runs([verb] { print_schema(*verb); });
}

}  // namespace garner::cli
