// Garner's only exception type. Its message is one line: what failed, the values, where, and what to try.
#pragma once
#include <stdexcept>
#include <string>

namespace garner {

enum class errc {
  usage,        // the call contradicts itself (incompatible access and tier, an unknown option)
  input,        // bad data: an inconsistent file, a vertex that does not exist
  io,           // the system refused: file not found, disk full, permission
  memory,       // a budget or an allocation refused
  device,       // no GPU, no GPU support in this build, or the GPU reported a fault
  interrupted,  // the caller requested a stop (Ctrl-C)
  internal,     // a defect of Garner
};

class error : public std::runtime_error {
 public:
  error(errc code, std::string const& message) : std::runtime_error(message), code_(code) {}
  errc code() const noexcept { return code_; }

 private:
  errc code_;
};

// An id that does not exist: a vertex outside the graph, a row outside a table. Its code is errc::input.
class id_error : public error {
 public:
  explicit id_error(std::string const& message) : error(errc::input, message) {}
};

}  // namespace garner
