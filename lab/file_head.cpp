#include "lab/file_head.hpp"

#include "core/device.hpp"
#include "core/fail.hpp"
#include "core/thread_pool.hpp"
#include "lab/now.hpp"

namespace garner::lab {

file_head head_of_run(std::string command, execution_device where) {
  std::string const device = where.kind == device_kind::cuda ? device::describe(where.index).name : "";
  return {GARNER_VERSION, std::move(command), now_utc(), std::string(to_string(where)), device, shared_pool().threads()};
}

bool is_of(file_schema const& s, json const& file) { return file.is_object() && file.contains("schema") && file["schema"] == s.name; }
void require_version(file_schema const& s, json const& all, std::string const& file) {
  if (s.version && (!all.contains("version") || all["version"] != s.version))
    fail(errc::input, "{}: has version {} of its schema and this garner reads {}; measure again, or take the garner that wrote it", file,
         all.contains("version") ? all["version"].dump(-1, ' ', true, json::error_handler_t::replace) : "no", s.version);
}

}  // namespace garner::lab
