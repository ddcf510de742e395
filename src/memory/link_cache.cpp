// The calibration as JSON in the user's cache folder ($XDG_CACHE_HOME/garner, else ~/.cache/garner).
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "core/publish.hpp"
#include "memory/link.hpp"

namespace garner {

namespace {
constexpr int cache_version = 2;
}

std::filesystem::path link_cache_file(std::string const& pci, std::string const& device) try {
  char const* const cache = std::getenv("XDG_CACHE_HOME");
  char const* const home = std::getenv("HOME");
  bool const own = cache && *cache == '/';  // the XDG Base Directory specification ignores relative paths
  if (!own && !(home && *home == '/')) return {};
  std::filesystem::path const folder = own ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache";
  std::string name = "link-" + pci + "-" + device + ".json";
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return folder / "garner" / name;
} catch (...) {
  rethrow_as_error();
}

void save_link(link_calibration const& link, std::filesystem::path const& file) {
  nlohmann::json rows = nlohmann::json::array();
  for (row_rate const& r : link.random_rows) rows.push_back({{"row_bytes", r.row_bytes}, {"table_bytes", r.table_bytes}, {"gbs", r.gbs}});
  nlohmann::json const all{{"version", cache_version},
                           {"device", link.device},
                           {"pci", link.pci},
                           {"driver", link.driver},
                           {"to_device_gbs", link.to_device_gbs},
                           {"to_host_gbs", link.to_host_gbs},
                           {"zero_copy_gbs", link.zero_copy_gbs},
                           {"line_requests", link.line_requests},
                           {"sector_requests", link.sector_requests},
                           {"saturating_sms", link.saturating_sms},
                           {"paged_gbs", link.paged_gbs ? nlohmann::json(*link.paged_gbs) : nlohmann::json()},
                           {"random_rows", rows}};
  std::error_code problem;
  std::filesystem::create_directories(file.parent_path(), problem);
  if (problem) fail(errc::io, "{}: cannot be made: {}", file.parent_path().string(), problem.message());
  pending_file out(file);
  out.write(all.dump(2) + "\n");
  out.commit();
}

std::optional<link_calibration> load_link(std::filesystem::path const& file) {
  std::ifstream in(file);
  nlohmann::json const all = nlohmann::json::parse(in, nullptr, false);
  if (all.is_discarded() || !all.is_object()) return std::nullopt;
  try {
    if (all.at("version").get<int>() != cache_version) return std::nullopt;
    link_calibration link;
    all.at("device").get_to(link.device);
    all.at("pci").get_to(link.pci);
    all.at("driver").get_to(link.driver);
    all.at("to_device_gbs").get_to(link.to_device_gbs);
    all.at("to_host_gbs").get_to(link.to_host_gbs);
    all.at("zero_copy_gbs").get_to(link.zero_copy_gbs);
    all.at("line_requests").get_to(link.line_requests);
    all.at("sector_requests").get_to(link.sector_requests);
    all.at("saturating_sms").get_to(link.saturating_sms);
    if (auto const& paged = all.at("paged_gbs"); !paged.is_null()) link.paged_gbs = paged.get<double>();
    for (auto const& r : all.at("random_rows"))
      link.random_rows.push_back(
          {r.at("row_bytes").get<std::uint64_t>(), r.at("table_bytes").get<std::uint64_t>(), r.at("gbs").get<double>()});
    if (!(link.zero_copy_gbs > 0 && link.to_device_gbs > 0)) return std::nullopt;  // one divides by these
    return link;
  } catch (nlohmann::json::exception const&) {
    return std::nullopt;
  }
}

}  // namespace garner
