// The environment settings of a stand-in library, and its log of calls.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

std::string said(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}
void log(std::string const& line) {
  std::string const file = said("GARNER_STAND_IN_LOG");
  if (file.empty()) return;
  int const fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::string const text = line + "\n";
  if (fd >= 0) static_cast<void>(!::write(fd, text.data(), text.size())), ::close(fd);
}
bool refuses(char const* what, int rank) {
  std::string const whose = said("GARNER_STAND_IN_RANK");
  return said("GARNER_STAND_IN_REFUSES") == what && (whose.empty() || whose == std::to_string(rank));
}

}  // namespace
