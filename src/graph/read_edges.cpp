// The list of formats, their detection, and the dispatch to their readers.
#include <cctype>
#include <new>

#include "core/fail.hpp"
#include "core/stats.hpp"
#include "core/words.hpp"
#include "graph/formats.hpp"
#include "graph/read_text.hpp"
#include "graph/source.hpp"

namespace garner {

namespace {

constexpr word_table<file_format> names{
    "'{text}' is not a format; use {a_b}",
    {"el", "wel", "csv", "snap", "mtx", "gr", "metis", "sg", "wsg", "bel", "ldbc", "npy", "npz", "gnr"}};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_text(file_format f) { return f <= file_format::metis || f == file_format::ldbc; }

// The only existing file `name`, plain or compressed; unset if it does not exist.
std::optional<std::filesystem::path> find_any(std::string const& name) {
  std::optional<std::filesystem::path> found;
  for (char const* ending : {"", ".gz", ".zst"}) {
    std::filesystem::path const path = name + ending;
    std::error_code problem;
    if (!std::filesystem::exists(path, problem)) {
      if (problem) fail(errc::io, "{}: cannot be opened: {}", path.string(), problem.message());
      continue;
    }
    if (found)
      fail(errc::input, "{}: {} is in the same folder; remove the one that is not meant", found->string(), path.filename().string());
    found = path;
  }
  return found;
}

// Pipes and devices can be read only once.
bool gives_once(std::filesystem::path const& path) {
  std::error_code none;
  std::filesystem::file_status const is = std::filesystem::status(path, none);
  return std::filesystem::exists(is) && !std::filesystem::is_regular_file(is) && !std::filesystem::is_directory(is);
}

struct bel_files {
  input_stream offsets, targets;
  std::optional<input_stream> weights;
};

bel_files open_bel(std::filesystem::path const& path) {
  std::string const stem = bel_stem(path);
  auto const open = [&](char const* part) {
    auto const found = find_any(stem + part);
    if (!found) fail(errc::io, "{}{}: not found, nor with .gz or .zst; a .bel is {}.col, .dst and perhaps .val", stem, part, stem);
    return input_stream(*found, false);
  };
  bel_files files{open(".col"), open(".dst"), std::nullopt};
  if (auto const found = find_any(stem + ".val")) files.weights.emplace(*found, false);
  return files;
}

struct ldbc_files {
  input_stream vertices, edges;
  std::optional<input_stream> properties;
};

// `part` of an LDBC graph, which must exist.
std::filesystem::path find_ldbc(std::string const& stem, char const* part) {
  auto const found = find_any(stem + part);
  if (!found)
    fail(errc::io, "{}{}: not found, nor with .gz or .zst; an LDBC graph is {}.v and .e (a list of edges alone: use --from)", stem, part,
         stem);
  return *found;
}

ldbc_files open_ldbc(std::filesystem::path const& path) {
  std::string const stem = ldbc_stem(path);
  ldbc_files files{input_stream(find_ldbc(stem, ".v")), input_stream(find_ldbc(stem, ".e")), std::nullopt};
  if (auto const found = find_any(stem + ".properties")) files.properties.emplace(*found);
  return files;
}

file_format chosen(std::filesystem::path const& path, read_options const& options) {
  file_format const format = options.from ? *options.from : format_of(path);
  if (format == file_format::gnr)
    fail(errc::usage, "{}: is a Garner graph file and not an edge list; it needs no conversion", path.string());
  return format;
}

// Runs a reader; if memory runs out, the error reports its progress.
template <class Read>
read_result with_memory(std::string const& name, Read const& read) {
  static counter edges_read{"graph.arcs_read"};
  phase const timed{"graph.read"};
  try {
    read_result result = read();
    result.edges.source = name;
    edges_read.add(result.edges.arcs.size());
    return result;
  } catch (std::bad_alloc const&) {
    fail(errc::memory, "{}: host memory is too small for its edge list (16 bytes per edge, 4 per weight); use a machine with more", name);
  } catch (std::length_error const&) {
    fail(errc::memory, "{}: its edge list is larger than any memory; its header may lie", name);
  }
}

}  // namespace

std::string_view to_string(file_format format) { return names[format]; }
file_format parse_format(std::string_view name) { return names.parse(name); }

bare_name strip_compression(std::filesystem::path const& path) {
  std::string name = path.string();
  for (std::string_view const ending : {".gz", ".zst"})
    if (lower(name).ends_with(ending)) return {name.substr(0, name.size() - ending.size()), std::string(ending)};
  return {std::move(name), ""};
}

std::string bel_stem(std::filesystem::path const& path) {
  std::string name = strip_compression(path).name;
  for (std::string_view const part : {".col", ".dst", ".val"})
    if (name.ends_with(part)) return name.substr(0, name.size() - part.size());
  return name;
}

std::string ldbc_stem(std::filesystem::path const& path) {
  std::string name = strip_compression(path).name;
  if (name.ends_with(".v") || name.ends_with(".e")) name.resize(name.size() - 2);
  return name;
}

bool is_written(file_format f) {
  return f != file_format::snap && f != file_format::csv && f != file_format::gr && f != file_format::ldbc && f != file_format::npy &&
         f != file_format::npz;
}

bool declares_vertices(file_format f) {
  return f >= file_format::mtx && f != file_format::npy && f != file_format::npz && f != file_format::gnr;
}

file_format format_of(std::filesystem::path const& path) try {
  if (generated_by(path)) return file_format::gnr;
  std::string const name = lower(strip_compression(path).name);
  auto const ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".txt") || ends(".tsv") || ends(".edgelist") || ends(".edges")) return file_format::snap;
  if (ends(".bel.col") || ends(".bel.dst") || ends(".bel.val")) return file_format::bel;
  if (ends(".v") || ends(".e")) return file_format::ldbc;
  if (ends(".graph")) return file_format::metis;
  if (ends(".col")) return file_format::gr;
  for (std::string_view const name : names.all())
    if (name != "snap" && name != "ldbc" && ends("." + std::string(name))) return names.parse(name);
  fail(errc::usage,
       "{}: its ending names no format; endings are .el .wel .csv .txt .tsv .edgelist .edges .mtx .gr .col .graph .sg "
       ".wsg .bel .v .e .npy .npz .gnr (also with .gz or .zst), or use --from FORMAT or --to FORMAT",
       path.string());
} catch (...) {
  rethrow_as_error();
}

namespace {
// Rejects options that do not apply to the format.
void refuse_foreign(file_format format, std::string const& name, read_options const& options) {
  if (!is_text(format) && options.skip_lines)
    fail(errc::usage, "{}: --skip-lines is for text, and {} is a binary format; leave it out", name, to_string(format));
  if (format > file_format::snap && !options.columns.empty())
    fail(errc::usage, "{}: --columns is for text in columns, and {} has its own form; leave it out", name, to_string(format));
}
}  // namespace

read_result read_edges(input_stream& in, file_format format, read_options const& options) {
  refuse_foreign(format, in.name(), options);
  return with_memory(in.name(), [&] {
    switch (format) {
      case file_format::mtx:
        return read_mtx(in, options);
      case file_format::gr:
        return read_gr(in, options);
      case file_format::metis:
        return read_metis(in, options);
      case file_format::sg:
        return read_sg(in, false, options);
      case file_format::wsg:
        return read_sg(in, true, options);
      case file_format::bel:
      case file_format::ldbc:
      case file_format::npy:
      case file_format::npz:
      case file_format::gnr:
        fail(errc::usage, "{}: {} is not read from one stream; name the file", in.name(), to_string(format));
      default:
        return read_columns(in, format, options);
    }
  });
}

read_result read_edges(std::filesystem::path const& path, read_options const& options) {
  file_format const format = chosen(path, options);
  if (format == file_format::bel || format == file_format::ldbc) {
    read_options of_text = options;
    of_text.skip_lines = 0;  // their readers report it themselves
    refuse_foreign(format, path.string(), of_text);
  }
  if (format == file_format::bel)
    return with_memory(bel_stem(path), [&] {
      bel_files files = open_bel(path);
      return read_bel(files.offsets, files.targets, files.weights ? &*files.weights : nullptr, options);
    });
  if (format == file_format::ldbc)
    return with_memory(ldbc_stem(path), [&] {
      ldbc_files files = open_ldbc(path);
      return read_ldbc(files.vertices, files.edges, files.properties ? &*files.properties : nullptr, options);
    });
  refuse_foreign(format, path.string(), options);
  if (format == file_format::npy) return with_memory(path.string(), [&] { return read_npy(path, options); });
  if (format == file_format::npz) return with_memory(path.string(), [&] { return read_npz(path, options); });
  input_stream in(path);
  return read_edges(in, format, options);
}

void require_vertices(edge_list const& e, bool allow_empty) {
  if (e.arcs.empty() && e.vertices == 0 && !allow_empty)
    fail(errc::input, "{}: holds no edge and no vertex; fetch it again if it should, or use --allow-empty for a graph of nothing",
         e.source);
}

std::uint64_t estimate_read_bytes(std::filesystem::path const& given, read_options const& options) {
  file_format const format = chosen(given, options);
  std::filesystem::path path = given;
  std::uint64_t listed = 0;  // for vertices that are listed separately
  if (format == file_format::ldbc) {
    std::filesystem::path const list = find_ldbc(ldbc_stem(given), ".v");
    path = find_ldbc(ldbc_stem(given), ".e");
    if (gives_once(list)) return 0;
    // Lines of at least 4 bytes, and 32 bytes per vertex during the sort.
    input_stream const in(list);
    listed = in.file_size().value_or(0) * (in.plain_size() ? 8 : 32);
  }
  constexpr std::uint64_t a_mib = 1u << 20;
  if (format == file_format::npy) return gives_once(path) ? 0 : edges_of_npy(path) * 16 + 2 * a_mib;
  if (format == file_format::npz) return gives_once(path) ? 0 : edges_of_npz(path) * 16 + 2 * a_mib;
  if (format == file_format::bel) {
    for (char const* part : {".col", ".dst", ".val"})
      if (auto const found = find_any(bel_stem(path) + part); found && gives_once(*found)) return 0;
    bel_files files = open_bel(path);
    std::uint64_t counts[2] = {0, 0};
    files.offsets.read(&counts[0], 8);
    files.targets.read(&counts[1], 8);
    auto const cap = [](input_stream const& in, std::uint64_t count) {  // deflate compresses by at most 1032 : 1, zstd seldom by more
      return std::min(count, in.file_size().value_or(0) / 8 * (in.plain_size() ? 1 : 1032));
    };
    return 8 * cap(files.offsets, counts[0]) + (files.weights && !options.ignore_weights ? 20 : 16) * cap(files.targets, counts[1]) + a_mib;
  }
  if (gives_once(path)) return 0;
  input_stream in(path);
  std::uint64_t const size = in.file_size().value_or(0);
  if (!is_text(format)) {
    std::uint64_t head[3] = {0, 0, 0};
    in.read(reinterpret_cast<char*>(head) + 7, 17);
    std::uint64_t const most = size * (in.plain_size() ? 1 : 1032);
    return 8 * std::min(head[2], most / 8) +
           (format == file_format::wsg && !options.ignore_weights ? 20 : 16) * std::min(head[1], most / 4) + a_mib;
  }
  // Text: counts lines in the first MiB, and extrapolates to the size of the file.
  std::string sample(a_mib, '\0');
  sample.resize(in.read(sample.data(), sample.size()));
  double const whole = in.at_end() ? 1 : static_cast<double>(size) / static_cast<double>(std::max<std::uint64_t>(1, in.file_position()));
  std::uint64_t lines = sample.empty() || sample.back() == '\n' ? 0 : 1;
  for (char const c : sample) lines += c == '\n';
  std::size_t const end = sample.find_last_not_of("\r\n \t");
  std::size_t const begin = end == std::string::npos ? 0 : sample.find_last_of('\n', end) + 1;  // npos + 1 is 0
  unsigned words = 0;
  for (std::size_t i = begin; i < sample.size() && i <= end; ++i)
    words += (i == begin || is_blank(sample[i - 1]) || sample[i - 1] == ',' || sample[i - 1] == ';') && !is_blank(sample[i]);
  bool const weighted =
      !options.ignore_weights && (format == file_format::wel || format == file_format::gr || (format != file_format::el && words >= 3));
  // Blocks in flight: two batches of text and the edges of one.
  std::uint64_t const flight = std::min<std::uint64_t>(8 * options.block_bytes * shared_pool().threads(),
                                                       4 * sample.size() + 8 * size * (in.plain_size() ? 1 : 1032)) +
                               a_mib;
  return static_cast<std::uint64_t>(static_cast<double>(lines) * whole * (weighted ? 20 : 16)) + flight + listed;
}

}  // namespace garner
