// A zip archive, as numpy.savez and torch.save write it: its directory, and sequential access to a member, stored or deflated. Invariant: a
// member has as many bytes as the directory says, with the checksum that it says, or throws. Sizes are checked against the file before
// memory is allocated for them. Cost: one pass through a member; 256 KiB.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace garner {

class zip_file {
 public:
  explicit zip_file(std::filesystem::path const& path);  // errc::io if it cannot be opened, errc::input if it is not a zip
  ~zip_file();
  zip_file(zip_file&&) noexcept;
  zip_file& operator=(zip_file&&) = delete;

  struct entry {
    std::string name;
    std::uint64_t packed = 0, size = 0, at = 0;  // bytes in the file, bytes decompressed, position of its local header
    std::uint32_t checksum = 0;
    bool deflated = false;
  };
  std::string const& name() const;
  std::vector<entry> const& entries() const;
  entry const* find(std::string const& name) const;  // null if absent

  // Reads one member sequentially; refers to the archive, which must outlive it.
  class member {
   public:
    member(zip_file const& in, entry const& of);
    ~member();
    member(member const&) = delete;
    member& operator=(member const&) = delete;
    std::uint64_t size() const;
    std::uint64_t position() const;
    void read(void* to, std::uint64_t n);  // errc::input if fewer bytes are left, or they are damaged

   private:
    struct state;
    std::unique_ptr<state> state_;
  };

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace garner
