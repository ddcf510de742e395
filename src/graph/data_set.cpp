#include "graph/data_set.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "core/fail.hpp"
#include "core/folder.hpp"
#include "graph/edge_index.hpp"
#include "graph/input_stream.hpp"
#include "graph/zip.hpp"

namespace garner {

namespace {

namespace fs = std::filesystem;
using found = std::optional<array_source>;

bool is_folder(fs::path const& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}
bool is_file(fs::path const& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

// Subfolders of `folder`, sorted by name.
std::vector<fs::path> folders_of(fs::path const& folder) {
  std::vector<fs::path> all;
  for (std::string const& name : names_in(folder))
    if (is_folder(folder / name)) all.push_back(folder / name);
  std::sort(all.begin(), all.end());
  return all;
}

// The first of these names that exists, with any of the endings.
found find_array(fs::path const& folder, std::initializer_list<char const*> names) {
  for (char const* name : names)
    for (char const* ending : {".npy", ".csv.gz", ".csv"})
      if (fs::path const file = folder / (std::string(name) + ending); is_file(file)) return array_source{file};
  return {};
}
found features_in(fs::path const& folder) { return find_array(folder, {"node-feat", "node_feat"}); }
found times_in(fs::path const& folder) { return find_array(folder, {"node_year", "node_time"}); }

// Splits a folder's name into FROM, RELATION and TO: by three underscores (OGB), else by two (IGB).
std::optional<data_set::edges> named(std::string const& name) {
  for (std::string const mark : {"___", "__"}) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t at; (at = name.find(mark, begin)) != name.npos; begin = at + mark.size())
      parts.push_back(name.substr(begin, at - begin));
    parts.push_back(name.substr(begin));
    if (parts.size() != 3 || std::any_of(parts.begin(), parts.end(), [](std::string const& p) { return p.empty(); })) continue;
    data_set::edges e{parts[0], parts[1], parts[2], {}};
    e.rows_if_either = mark == "__";
    return e;
  }
  return {};
}

data_set::vertices& type_of(data_set& d, std::string const& name) {
  for (auto& t : d.types)
    if (t.name == name) return t;
  return d.types.emplace_back(data_set::vertices{name});
}
void add_types_of_relations(data_set& d) {
  for (auto const& e : d.relations)
    for (std::string const& name : {e.from, e.to}) type_of(d, name);
}

// An OGB table with a line of names: each name with the word in its only row.
std::vector<std::pair<std::string, std::string>> named_row(fs::path const& file) {
  input_stream in(file);
  std::string text(1u << 20, '\0');
  text.resize(in.read(text.data(), text.size()));
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line{""};
  for (char const c : text) {
    if (c == '\r' || c == '"') continue;
    if (c == '\n') lines.push_back(std::move(line)), line.assign(1, "");
    else if (c == ',') line.emplace_back();
    else line.back() += c;
  }
  if (line.size() > 1 || !line[0].empty()) lines.push_back(std::move(line));
  while (!lines.empty() && lines.back() == std::vector<std::string>{""}) lines.pop_back();
  if (lines.size() > 2) fail(errc::input, "{}: describes {} graphs; one is converted", file.string(), lines.size() - 1);
  if (lines.size() != 2 || lines[0].size() != lines[1].size())
    fail(errc::input, "{}: is not a line of names above a line of as many words", file.string());
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t i = 0; i < lines[0].size(); ++i) all.emplace_back(lines[0][i], lines[1][i]);
  return all;
}

// OGB's file of vertex counts per type.
fs::path count_file(fs::path const& folder) {
  fs::path const plain = folder / "num-node-dict.csv";
  return is_file(plain) ? plain : folder / "num-node-dict.csv.gz";
}
std::vector<std::pair<std::string, std::uint64_t>> counts_in(fs::path const& file) {
  std::vector<std::pair<std::string, std::uint64_t>> all;
  for (auto const& [name, count] : named_row(file)) {
    if (count.empty() || count.size() > 19 || !std::all_of(count.begin(), count.end(), [](char c) { return c >= '0' && c <= '9'; }))
      fail(errc::input, "{}: '{}' has {} vertices, no whole number from 0 up", file.string(), name, count.empty() ? "no number of" : count);
    all.emplace_back(name, std::stoull(count));
  }
  return all;
}

// The only number of a list with one entry per graph.
std::uint64_t one_count(array_source const& from) {
  std::vector<std::int64_t> const all = whole_numbers(from, {});
  if (all.size() != 1 || all[0] < 0)
    fail(errc::input, "{}: describes {} graphs; one is converted, with a count from 0 up", from.file.string(), all.size());
  return static_cast<std::uint64_t>(all[0]);
}
std::optional<std::uint64_t> count_in(fs::path const& folder, std::initializer_list<char const*> names) {
  found const list = find_array(folder, names);
  return list ? std::optional(one_count(*list)) : std::nullopt;
}

// The selected folder of split/; empty if none exists.
fs::path split_folder(fs::path const& root, std::string const& wanted) {
  std::vector<fs::path> const all = folders_of(root / "split");
  std::vector<std::string> names;
  for (auto const& folder : all) {
    names.push_back(folder.filename().string());
    if (names.back() == wanted) return folder;
  }
  if (!wanted.empty())
    fail(errc::usage, "{}: split/ has no folder '{}'; {}", root.string(), wanted,
         names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", ")));
  if (all.size() > 1)
    fail(errc::usage, "{}: split/ has {} folders: {}; name which one with --split", root.string(), all.size(), fmt::join(names, ", "));
  return all.empty() ? fs::path() : all[0];
}
// The first folder that has any of the three splits supplies all of them.
void take_splits(data_set::vertices& t, std::vector<fs::path> const& folders) {
  for (fs::path const& folder : folders) {
    if (folder.empty()) continue;
    t.train = find_array(folder, {"train", "train_idx"});
    t.valid = find_array(folder, {"valid", "valid_idx", "val", "val_idx"});
    t.test = find_array(folder, {"test", "test_idx", "test-whole", "test-dev"});
    if (t.train || t.valid || t.test) return;
  }
}

data_set::vertices& only_type(data_set& d) { return type_of(d, "node"); }
data_set::edges& only_relation(data_set& d, array_source index) {
  only_type(d);
  return d.relations.emplace_back(data_set::edges{"node", "to", "node", std::move(index)});
}

// --- the layouts -------------------------------------------------------------------------------------------------------------------------

data_set ogb_of_types(fs::path const& root, fs::path const& raw, std::string const& split) {
  data_set d;
  fs::path const counts = count_file(raw);
  for (auto const& [name, count] : counts_in(counts)) type_of(d, name).count = count;
  std::vector<std::string> labelled;
  fs::path const has_label = raw / "nodetype-has-label.csv.gz";
  bool const told = is_file(has_label);
  if (told)
    for (auto const& [name, has] : named_row(has_label))
      if (has == "True") labelled.push_back(name);
  fs::path const splits = split_folder(root, split);
  for (auto& t : d.types) {
    t.features = features_in(raw / "node-feat" / t.name);
    t.times = times_in(raw / "node-feat" / t.name);
    bool const should = std::count(labelled.begin(), labelled.end(), t.name) != 0;
    if (should || !told) t.labels = find_array(raw / "node-label" / t.name, {"node-label", "node_label"});
    if (should && !t.labels)
      fail(errc::io, "{}: '{}' has labels, says {}, but node-label.csv.gz is missing", (raw / "node-label" / t.name).string(), t.name,
           has_label.filename().string());
    if (!splits.empty()) take_splits(t, {splits / t.name});
  }
  for (fs::path const& folder : folders_of(raw / "relations")) {
    std::string const name = folder.filename().string();
    auto e = named(name);
    if (!e) fail(errc::input, "{}: is not named FROM___RELATION___TO", folder.string());
    for (std::string const& end : {e->from, e->to})
      if (std::none_of(d.types.begin(), d.types.end(), [&](auto const& t) { return t.name == end; }))
        fail(errc::input, "{}: {} has no vertices '{}'", folder.string(), counts.filename().string(), end);
    found const index = find_array(folder, {"edge", "edge_index"});
    if (!index) fail(errc::io, "{}: holds no edge.csv.gz", folder.string());
    e->index = *index;
    e->count = count_in(folder, {"num-edge-list"});
    e->features = find_array(folder, {"edge-feat", "edge_feat"});
    e->times = find_array(folder, {"edge_year", "edge_time"});
    d.relations.push_back(std::move(*e));
  }
  return d;
}

data_set ogb_text(fs::path const& root, fs::path const& raw, array_source const& index, std::string const& split) {
  data_set d;
  data_set::edges& e = only_relation(d, index);
  e.count = count_in(raw, {"num-edge-list"});
  e.features = find_array(raw, {"edge-feat", "edge_feat"});
  e.times = find_array(raw, {"edge_year", "edge_time"});
  data_set::vertices& t = only_type(d);
  t.count = count_in(raw, {"num-node-list"});
  t.features = features_in(raw);
  t.times = times_in(raw);
  t.labels = find_array(raw, {"node-label", "node_label"});
  take_splits(t, {split_folder(root, split), root, raw});
  return d;
}

data_set ogb_archive(fs::path const& root, fs::path const& raw, std::string const& split) {
  data_set d;
  fs::path const file = raw / "data.npz";
  zip_file const archive(file);
  auto const array = [&](char const* key) { return archive.find(std::string(key) + ".npy") ? found({file, key}) : std::nullopt; };
  data_set::edges& e = only_relation(d, {file, "edge_index"});
  if (auto const n = array("num_edges_list")) e.count = one_count(*n);
  e.features = array("edge_feat");
  e.times = array("edge_year");
  data_set::vertices& t = only_type(d);
  if (auto const n = array("num_nodes_list")) t.count = one_count(*n);
  t.features = array("node_feat");
  t.times = array("node_year");
  if (fs::path const labels = raw / "node-label.npz"; is_file(labels)) t.labels = array_source{labels, "node_label"};
  else t.labels = find_array(raw, {"node-label", "node_label"});
  take_splits(t, {split_folder(root, split), root, raw});
  return d;
}

// MAG240M and IGB: a folder per type, and one FROM___RELATION___TO (or with two underscores) per edge type.
data_set processed_folders(fs::path const& root, fs::path const& processed, std::string const& split) {
  data_set d;
  for (fs::path const& folder : folders_of(processed))
    if (auto e = named(folder.filename().string()))
      if (auto const index = find_array(folder, {"edge_index", "edge"})) {
        e->index = *index;
        e->features = find_array(folder, {"edge_feat", "edge-feat"});
        e->times = find_array(folder, {"edge_year", "edge_time"});
        d.relations.push_back(std::move(*e));
      }
  if (d.relations.empty()) return d;
  add_types_of_relations(d);
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  if (fs::path const text = count_file(root); is_file(text)) counts = counts_in(text);
  else if (fs::path const meta = root / "meta.pt"; is_file(meta)) counts = read_counts(meta);
  fs::path const splits = split_folder(root, split);
  for (auto& t : d.types) {
    fs::path const folder = processed / t.name;
    for (auto const& [name, count] : counts)
      if (name == t.name) t.count = count;
    t.features = features_in(folder);
    t.times = times_in(folder);
    t.labels = find_array(folder, {"node_label", "node-label", "node_label_19", "node_label_2K"});
    if (t.labels && t.labels->file.stem() == "node_label_19" && is_file(folder / "node_label_2K.npy"))
      d.notes.push_back(fmt::format("{}: the labels of 19 classes are taken; node_label_2K.npy exists as well", folder.string()));
    for (auto const& [of, width] : {std::pair(t.features, igb_width), std::pair(t.labels, std::uint64_t{1})}) {
      if (!of || of->file.extension() != ".npy") continue;
      bool const raw = is_raw(of->file);
      if (raw)
        d.notes.push_back(fmt::format("{}: has no header of NumPy; it is read as raw float32, {} per node", of->file.string(), width));
      if (!t.count) t.count = raw ? fs::file_size(of->file) / (4 * width) : npy_file(of->file).rows();
    }
    take_splits(t, {splits.empty() ? splits : splits / t.name, folder, splits});
  }
  if (is_file(root / "split_dict.pt") && std::none_of(d.types.begin(), d.types.end(), [](auto const& t) { return t.train.has_value(); }))
    d.notes.push_back(
        fmt::format("{}: is a pickle, which is not read; in Python, for k, v in torch.load('split_dict.pt', weights_only=False).items(): "
                    "numpy.save(f'processed/paper/{{k}}.npy', v)",
                    (root / "split_dict.pt").string()));
  return d;
}

data_set lone_index(fs::path const& root, array_source const& index, std::string const& split) {
  data_set d = ogb_text(root, root, index, split);
  data_set::vertices& t = only_type(d);
  for (found const& of : {t.features, t.labels})
    if (!t.count && of && of->file.extension() == ".npy") t.count = npy_file(of->file).rows();
  return d;
}

}  // namespace

data_set look_into(fs::path const& folder, std::string const& split) {
  if (!is_folder(folder)) fail(errc::io, "{}: is not a folder, or cannot be read", folder.string());
  fs::path const raw = is_folder(folder / "raw") ? folder / "raw" : folder,
                 processed = is_folder(folder / "processed") ? folder / "processed" : folder;
  if (is_folder(raw / "relations")) return ogb_of_types(folder, raw, split);
  if (found const index = find_array(raw, {"edge"})) return ogb_text(folder, raw, *index, split);
  if (is_file(raw / "data.npz")) return ogb_archive(folder, raw, split);
  if (data_set d = processed_folders(folder, processed, split); !d.relations.empty()) return d;
  if (found const index = find_array(folder, {"edge_index"})) return lone_index(folder, *index, split);
  fail(
      errc::input,
      "{}: no layout of a data set; looked for relations/ and edge.csv.gz and data.npz in {}, FROM___RELATION___TO/edge_index.npy (or with "
      "two underscores) in {}, and edge_index.npy",
      folder.string(), raw.string(), processed.string());
}

// A pickle is a program for a stack machine. Such a dictionary uses few of its instructions; all others are rejected.
std::vector<std::pair<std::string, std::uint64_t>> read_counts(fs::path const& file) {
  zip_file const archive(file);
  zip_file::entry const* data = nullptr;
  for (auto const& e : archive.entries())
    if (e.name == "data.pkl" || e.name.ends_with("/data.pkl")) data = &e;
  auto const bad = [&](std::string const& what) {
    fail(errc::input,
         "{}: {}; a dictionary of names and counts is read, as torch.save writes it; or write num-node-dict.csv in its folder, a line of "
         "names and one of counts",
         file.string(), what);
  };
  if (!data) bad("holds no data.pkl");
  if (data->size > (1u << 20)) bad(fmt::format("its data.pkl has {} bytes", data->size));
  std::string code(data->size, '\0');
  zip_file::member(archive, *data).read(code.data(), code.size());
  std::size_t at = 0;
  auto const number = [&](std::size_t bytes) {
    if (code.size() - at < bytes) bad("its data.pkl is cut");
    std::uint64_t value = 0;
    std::memcpy(&value, code.data() + at, bytes);
    at += bytes;
    return value;
  };
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  std::vector<std::string> names;  // keys whose numbers are pending, or set:
  std::vector<std::uint64_t> numbers;
  bool dictionary = false;
  auto const take = [&] {
    if (names.size() != numbers.size()) bad("its data.pkl is not such a dictionary");
    for (std::size_t i = 0; i < names.size(); ++i) counts.emplace_back(std::move(names[i]), numbers[i]);
    names.clear(), numbers.clear();
  };
  auto const put = [&](std::uint64_t n) {
    if (numbers.size() + 1 != names.size()) bad("its data.pkl is not such a dictionary");
    numbers.push_back(n);
  };
  auto const text = [&](std::uint64_t bytes) {
    if (names.size() != numbers.size() || code.size() - at < bytes) bad("its data.pkl is not such a dictionary");
    names.push_back(code.substr(at, bytes));
    at += bytes;
  };
  while (true) {
    switch (static_cast<unsigned char>(number(1))) {
      case 0x80:
        number(1);
        break;  // PROTO
      case 0x95:
        number(8);
        break;  // FRAME
      case '}':
        if (dictionary) bad("holds a dictionary in another");
        dictionary = true;
        break;
      case '(':
        break;  // MARK
      case 'q':
        number(1);
        break;  // BINPUT
      case 'r':
        number(4);
        break;  // LONG_BINPUT
      case 0x94:
        break;  // MEMOIZE
      case 'X':
        text(number(4));
        break;  // BINUNICODE
      case 0x8c:
        text(number(1));
        break;  // SHORT_BINUNICODE
      case 'K':
        put(number(1));
        break;  // BININT1
      case 'M':
        put(number(2));
        break;     // BININT2
      case 'J': {  // BININT
        std::uint64_t const n = number(4);
        if (n >> 31) bad("a count in it is negative");
        put(n);
        break;
      }
      case 0x8a: {  // LONG1
        std::uint64_t const bytes = number(1);
        if (bytes > 8) bad("a count in it is larger than 2^63");
        std::uint64_t const n = number(bytes);
        if (bytes && n >> (8 * bytes - 1)) bad("a count in it is negative");
        put(n);
        break;
      }
      case 's':
      case 'u':
        if (!dictionary) bad("its data.pkl is not such a dictionary");
        take();
        break;  // SETITEM, SETITEMS
      case '.':
        if (!dictionary || !names.empty()) bad("its data.pkl is not such a dictionary");
        return counts;
      default:
        bad("its data.pkl holds something else");
    }
  }
}

}  // namespace garner
