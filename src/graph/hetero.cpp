#include "graph/hetero.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "graph/arrays.hpp"
#include "graph/container.hpp"
#include "graph/handle.hpp"
#include "graph/input_stream.hpp"
#include "graph/relation.hpp"

namespace garner {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;
using optional_path = std::optional<fs::path>;

constexpr std::uint64_t version = 1;

// Destructors of nlohmann values allocate, and terminate the process if memory is exhausted. Emptying the values first, from within, avoids
// the allocation.
template <class Json>
struct document {
  Json all;
  ~document() { empty(all); }
  static void empty(Json& of) {
    if (!of.is_structured()) return;
    for (Json& each : of) empty(each);
    of.clear();
  }
};

// The optional files of each, by their keys.
constexpr std::pair<char const*, optional_path vertex_type::*> vertex_files[] = {
    {"features", &vertex_type::features}, {"labels", &vertex_type::labels}, {"times", &vertex_type::times}, {"train", &vertex_type::train},
    {"valid", &vertex_type::valid},       {"test", &vertex_type::test},     {"names", &vertex_type::names}};
constexpr std::pair<char const*, optional_path edge_type::*> edge_files[] = {
    {"edge_ids", &edge_type::edge_ids}, {"times", &edge_type::times}, {"features", &edge_type::features}};

// A value and its path in the document, for error messages.
class field {
 public:
  field(json const& value, std::string where, std::string const& file) : value_(value), where_(std::move(where)), file_(file) {}

  // Rejects keys other than these.
  field const& object(std::initializer_list<char const*> keys) const {
    if (!value_.is_object()) wrong("an object");
    for (auto const& [key, value] : value_.items())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        fail(errc::input, "{}: {}: is not a known key; {}has {}", file_, in(key), where_.empty() ? "a dataset file " : "it ",
             fmt::join(keys, ", "));
    return *this;
  }
  bool has(char const* key) const { return value_.contains(key); }
  field operator[](char const* key) const {
    auto const at = value_.find(key);
    if (at == value_.end()) fail(errc::input, "{}: {}: is missing", file_, in(key));
    return {*at, in(key), file_};
  }
  std::vector<field> items() const {
    if (!value_.is_array()) wrong("a list");
    std::vector<field> all;
    for (std::size_t i = 0; i < value_.size(); ++i) all.push_back({value_[i], fmt::format("{}[{}]", where_, i), file_});
    return all;
  }
  std::string text() const {
    if (!value_.is_string() || value_.get_ref<std::string const&>().empty()) wrong("a text");
    std::string const& said = value_.get_ref<std::string const&>();
    for (char const c : said)
      if (c >= 0 && c < ' ') wrong("a text that can be printed");
    return said;
  }
  std::uint64_t count() const {
    if (!value_.is_number_unsigned()) wrong("a whole number from 0 up");
    return value_.get<std::uint64_t>();
  }
  [[noreturn]] void wrong(char const* wanted) const {
    std::string said = value_.dump(-1, ' ', true, json::error_handler_t::replace);
    if (said.size() > 40) said = said.substr(0, 40) + "...";
    fail(errc::input, "{}: {}: is {} and not {}", file_, where_.empty() ? "the whole" : where_, said, wanted);
  }

 private:
  std::string in(std::string key) const {
    for (char& c : key)
      if (c >= 0 && c < ' ') c = '?';  // a message is one line
    return where_.empty() ? key : where_ + "." + key;
  }
  json const& value_;
  std::string where_;
  std::string const& file_;
};

// Duplicate keys are a contradiction that the parser alone would ignore.
json parse(std::string_view text, std::string const& file) {
  std::vector<std::set<std::string>> open;
  try {
    return json::parse(text, [&](int, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::object_start) open.emplace_back();
      if (event == json::parse_event_t::object_end) open.pop_back();
      if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
        fail(errc::input, "{}: the key {} stands twice in one object", file, value.dump(-1, ' ', true, json::error_handler_t::replace));
      return true;
    });
  } catch (json::parse_error const& e) {
    fail(errc::input, "{}: byte {}: is not JSON there; mend it, or make it again with `garner convert FOLDER {}`", file, e.byte,
         fs::path(file).filename().string());
  } catch (json::out_of_range const&) {
    fail(errc::input, "{}: holds a number beyond what a number can be; mend it", file);
  }
}

fs::path located(fs::path const& base, std::string const& name) { return base / name; }

// As written in the dataset file.
std::string written(fs::path const& base, fs::path const& file) {
  std::error_code none;
  fs::path const whole = fs::weakly_canonical(fs::absolute(file), none), near = whole.lexically_relative(fs::weakly_canonical(base, none));
  return near.empty() || near.begin()->string() == ".." ? whole.string() : near.generic_string();
}
fs::path base_of(fs::path const& manifest) { return fs::absolute(manifest).parent_path(); }

// Runs f() and adds the file and the key to its errors.
template <class F>
void about(std::string const& manifest, std::string const& whose, char const* key, F const& f) {
  try {
    f();
  } catch (error const& e) {
    if (e.code() == errc::interrupted || e.code() == errc::memory) throw;
    fail(e.code(), "{}: {}: {}: {}", manifest, whose, key, e.what());
  }
}

std::uint64_t count_of(dataset_info const& m, std::string const& name) {  // of an existing type
  return std::find_if(m.types.begin(), m.types.end(), [&](vertex_type const& t) { return t.name == name; })->count;
}

void check_files(dataset_info const& m, std::string const& file) {
  for (vertex_type const& t : m.types) {
    std::string const whose = "vertices '" + t.name + "'";
    for (auto const& [key, path] : vertex_files) {
      if (!(t.*path)) continue;
      if (path == &vertex_type::names) {
        if (!fs::exists(*t.names)) fail(errc::io, "{}: {}: {}: {}: does not exist; copy it there", file, whose, key, t.names->string());
        continue;
      }
      array_rules rules;
      rules.of = t.name;
      bool const split = path == &vertex_type::train || path == &vertex_type::valid || path == &vertex_type::test;
      if (split) rules.below = t.count, rules.most_rows = t.count;
      else rules.rows = t.count;
      rules.whole = split || path == &vertex_type::times;
      about(file, whose, key, [&, path = path] { check_array(*(t.*path), rules, true); });
    }
  }
  for (edge_type const& e : m.edges) {
    std::string const whose = "edges '" + name_of(e) + "'";
    for (auto const& [key, path] : edge_files) {
      if (!(e.*path)) continue;
      array_rules rules;
      bool const features = path == &edge_type::features;
      rules.of = features ? "edges" : "arcs";
      rules.rows = features ? e.edges : e.stored_edges;
      rules.whole = !features;
      about(file, whose, key, [&, path = path] { check_array(*(e.*path), rules, false); });
    }
    about(file, whose, "lists", [&] {
      graph_info const info = read_header(e.adjacency).info;
      std::uint64_t const from = count_of(m, e.from), to = count_of(m, e.to);
      std::string const name = e.adjacency.string();
      if (info.vertices != std::max(from, to))
        fail(errc::input, "{}: has {} vertices for {} of '{}' and {} of '{}'; it has the larger count", name, info.vertices, from, e.from,
             to, e.to);
      if (info.edges != e.stored_edges)
        fail(errc::input, "{}: has {} edges, but the dataset file declares {}", name, info.edges, e.stored_edges);
      if (info.id_map || info.id_base || info.order != vertex_order::natural)
        fail(errc::input, "{}: its vertices are numbered otherwise than 0, 1, ...; convert its data set again", name);
    });
  }
}

// Checks that need the adjacency itself.
void check_lists(graph const& g, edge_type const& e, std::uint64_t from, std::uint64_t to) {
  if (g.out.offsets[to] != g.info.edges)
    fail(errc::input, "{}: {} edges are of vertices beyond the {} of '{}'", g.name, g.info.edges - g.out.offsets[to], to, e.to);
  std::uint64_t const bad = first_beyond(g, from);
  if (bad != g.info.edges) fail(errc::input, "{}: edge {} leads beyond the {} of '{}'", g.name, bad, from, e.from);
  if (!g.info.directed || g.in.offsets.empty()) return;
  if (g.in.offsets[from] != g.info.edges || first_beyond(g, to, true) != g.info.edges)
    fail(errc::input, "{}: its in-edges and out-edges differ; convert the dataset again", g.name);
}

template <class T, class Name>
std::size_t find_name(std::vector<T> const& all, std::string const& file, std::string const& wanted, char const* what, Name const& name) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < all.size(); ++k) {
    names.push_back(name(all[k]));
    if (names.back() == wanted) return k;
  }
  fail(errc::input, "{}: has no {} '{}'; it has {}", file, what, wanted,
       names.empty() ? "none" : fmt::format("'{}'", fmt::join(names, "', '")));
}

}  // namespace

std::size_t type_named(std::vector<vertex_type> const& types, std::string_view name, std::string const& file) {
  return find_name(types, file, std::string(name), "vertices", [](vertex_type const& t) { return t.name; });
}

std::string name_of(edge_type const& e) { return e.from + " " + e.relation + " " + e.to; }

void check_names(dataset_info const& m, std::string const& file) {
  std::set<std::string> types;
  for (std::size_t i = 0; i < m.types.size(); ++i)
    if (!types.insert(m.types[i].name).second) fail(errc::input, "{}: vertices[{}].name: '{}' stands twice", file, i, m.types[i].name);
  std::set<std::tuple<std::string, std::string, std::string>> edges;
  for (std::size_t i = 0; i < m.edges.size(); ++i) {
    edge_type const& e = m.edges[i];
    for (auto const& [key, name] : {std::pair("from", &e.from), std::pair("to", &e.to)})
      if (!types.count(*name))
        fail(errc::input, "{}: edges[{}].{}: no vertices are called '{}'; {}", file, i, key, *name,
             types.empty() ? "the file has no types" : fmt::format("there are '{}'", fmt::join(types, "', '")));
    if (!edges.insert({e.from, e.relation, e.to}).second) fail(errc::input, "{}: edges[{}]: '{}' stands twice", file, i, name_of(e));
  }
}

dataset_info parse_manifest(std::string_view text, fs::path const& path) {
  std::string const file = path.string();
  fs::path const base = path.parent_path();
  document<json> const read{parse(text, file)};
  field const whole = field(read.all, "", file).object({"garner", "vertices", "edges"});
  if (std::uint64_t const is = whole["garner"].count(); is != version)
    fail(errc::input, "{}: garner: is {}; this Garner reads dataset files of version {}", file, is, version);
  dataset_info m;
  for (field const& f : whole["vertices"].items()) {
    f.object({"name", "count", "features", "labels", "times", "train", "valid", "test", "names"});
    vertex_type& t = m.types.emplace_back();
    t.name = f["name"].text();
    t.count = f["count"].count();
    for (auto const& [key, file_of] : vertex_files)
      if (f.has(key)) t.*file_of = located(base, f[key].text());
  }
  for (field const& f : whole["edges"].items()) {
    f.object({"from", "relation", "to", "arcs", "edges", "lists", "edge_ids", "times", "features"});
    edge_type& e = m.edges.emplace_back();
    e.from = f["from"].text(), e.relation = f["relation"].text(), e.to = f["to"].text();
    e.stored_edges = f["arcs"].count();
    e.edges = f.has("edges") ? f["edges"].count() : e.stored_edges;
    e.adjacency = located(base, f["lists"].text());
    for (auto const& [key, file_of] : edge_files)
      if (f.has(key)) e.*file_of = located(base, f[key].text());
    if (!e.edge_ids && e.edges != e.stored_edges)
      fail(errc::input, "{}: edges[{}].edge_ids: is missing, and {} stored edges are not the {} edges in order", file, m.edges.size() - 1,
           e.stored_edges, e.edges);
  }
  check_names(m, file);
  return m;
}

std::string manifest_text(dataset_info const& m, fs::path const& file) {
  fs::path const base = base_of(file);
  using json = nlohmann::ordered_json;
  document<json> made;
  json& all = made.all;
  all["garner"] = version;
  all["vertices"] = json::array(), all["edges"] = json::array();
  auto const another = [&](char const* of) -> json& {
    all[of].push_back(json::object());
    return all[of].back();
  };
  for (vertex_type const& t : m.types) {
    json& one = another("vertices");
    one["name"] = t.name, one["count"] = t.count;
    for (auto const& [key, path] : vertex_files)
      if (t.*path) one[key] = written(base, *(t.*path));
  }
  for (edge_type const& e : m.edges) {
    json& one = another("edges");
    one["from"] = e.from, one["relation"] = e.relation, one["to"] = e.to, one["arcs"] = e.stored_edges;
    if (e.edges != e.stored_edges) one["edges"] = e.edges;
    one["lists"] = written(base, e.adjacency);
    for (auto const& [key, path] : edge_files)
      if (e.*path) one[key] = written(base, *(e.*path));
  }
  try {
    return all.dump(2) + "\n";
  } catch (json::type_error const&) {
    fail(errc::input, "{}: a name in it is not UTF-8; rename the folder or file", file.string());
  }
}

dataset_info read_dataset(fs::path const& file) {
  return as_error([&] {
    constexpr std::uint64_t most = 16u << 20;
    input_stream in(file);
    std::string text(most + 1, '\0');
    text.resize(in.read(text.data(), text.size()));
    if (text.size() > most) fail(errc::input, "{}: is longer than {} bytes; a dataset file is small", file.string(), most);
    dataset_info m = parse_manifest(text, file);
    check_files(m, file.string());
    return m;
  });
}

struct hetero_graph::holder {
  std::string name;
  dataset_info says;
  std::vector<graph_handle> lists;
};

hetero_graph::hetero_graph(graph_handle g, std::string vertices, std::string relation)
    : holder_(as_error([&] {
        auto made = std::make_unique<holder>();
        made->name = g.name();
        graph_info const info = g.info();
        made->says.types.push_back({vertices, info.vertices});
        made->says.edges.push_back({vertices, std::move(relation), vertices, info.edges, info.edges});
        made->lists.push_back(std::move(g));
        return made;
      })) {}
hetero_graph::hetero_graph(std::unique_ptr<holder> h) : holder_(std::move(h)) {}
hetero_graph::~hetero_graph() = default;
hetero_graph::hetero_graph(hetero_graph&&) noexcept = default;
hetero_graph& hetero_graph::operator=(hetero_graph&&) noexcept = default;

hetero_graph hetero_graph::open(fs::path const& manifest, open_options const& options) {
  open_options how = options;
  how.as_stored = true;
  return open(manifest, [&](fs::path const& lists) { return open_graph(lists, how); });
}
namespace {
// The adjacency of an edge type is reversed, however it was opened, also without the flag in its file.
void reverse(graph& g, bool stored) {
  if (!g.info.directed || g.info.reversed) return;
  if (stored && !g.info.in_edges)
    fail(errc::usage, "{}: was opened without its in-edges, which an edge type needs; open it with open_options::as_stored", g.name);
  if (stored) std::swap(g.out, g.in);
  g.info.reversed = true;
}

struct users_error {  // from a user's function; the API passes it through
  std::exception_ptr what;
};
}  // namespace
hetero_graph hetero_graph::open(fs::path const& manifest, std::function<graph_handle(fs::path const&)> const& each) try {
  auto const opened = [&](fs::path const& lists) {
    try {
      return each(lists);
    } catch (error const&) {
      throw;
    } catch (...) {
      throw users_error{std::current_exception()};
    }
  };
  return as_error([&] {
    dataset_info says = read_dataset(manifest);
    std::vector<graph_handle> lists;
    for (edge_type const& e : says.edges) {
      about(manifest.string(), "edges '" + name_of(e) + "'", "lists", [&] {
        lists.push_back(opened(e.adjacency));
        reverse(graph_access::change(lists.back()), read_header(e.adjacency).info.reversed);
        check_lists(graph_access::of(lists.back()), e, count_of(says, e.from), count_of(says, e.to));
      });
    }
    hetero_graph g{std::make_unique<holder>()};
    g.holder_->name = manifest.string(), g.holder_->says = std::move(says), g.holder_->lists = std::move(lists);
    return g;
  });
} catch (users_error const& theirs) {
  std::rethrow_exception(theirs.what);
}

hetero_graph::holder& hetero_graph::held() const {
  if (!holder_) fail(errc::usage, "this graph of several types was moved elsewhere; use the one that it was moved to");
  return *holder_;
}
std::string const& hetero_graph::name() const { return held().name; }
std::vector<vertex_type> const& hetero_graph::types() const { return held().says.types; }
std::vector<edge_type> const& hetero_graph::edges() const { return held().says.edges; }
graph_handle& hetero_graph::adjacency(std::size_t k) {
  if (k >= held().lists.size()) fail(errc::usage, "{}: edge type {} of {}; they are counted from 0", held().name, k, held().lists.size());
  return held().lists[k];
}
graph_handle const& hetero_graph::adjacency(std::size_t k) const { return const_cast<hetero_graph*>(this)->adjacency(k); }
std::size_t hetero_graph::type(std::string_view name) const {
  return as_error([&] { return type_named(held().says.types, name, held().name); });
}
std::size_t hetero_graph::edge(std::string_view from, std::string_view relation, std::string_view to) const {
  return as_error([&] { return find_name(held().says.edges, held().name, fmt::format("{} {} {}", from, relation, to), "edges", name_of); });
}

}  // namespace garner
