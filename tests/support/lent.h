// Arrays of the host where a backend can use them: at their place on the CPU, so that the address
// sanitizer sees where they end, and else as copies on the backend's device.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/compressed_matrix.h"

namespace tapir::testing {

// `bytes` bytes of the host, which get what became of them when the loan ends.
class Lent {
 public:
  Lent(const Backend& backend, const void* host, size_t bytes)
      : backend_(backend), host_(const_cast<void*>(host)), bytes_(bytes) {
    if (backend.device() == kCpu) return;
    copy_.emplace(backend.allocator(), backend.device(), bytes);
    backend.copy_from_host(host, copy_->data(), bytes);
  }
  ~Lent() {
    if (copy_) backend_.copy_to_host(copy_->data(), host_, bytes_);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  void* data() const { return copy_ ? copy_->data() : host_; }

 private:
  const Backend& backend_;
  void* host_;
  size_t bytes_;
  std::optional<Storage> copy_;
};

// A dense view.
class LentView : public Lent {
 public:
  LentView(const Backend& backend, ConstView host)
      : Lent(backend, host.data, static_cast<size_t>(host.numel()) * size_of(host.dtype)),
        view_{data(), host.dtype, host.shape, host.strides} {}

  operator View() const { return view_; }
  operator ConstView() const { return view_; }

 private:
  View view_;
};

class LentMatrix {
 public:
  LentMatrix(const Backend& backend, const CompressedMatrix& host)
      : values_(backend, host.values, host.value_bytes()),
        scales_(backend, host.scales, host.scale_bytes()),
        matrix_(host) {
    matrix_.values = values_.data();
    matrix_.scales = static_cast<bf16*>(scales_.data());
  }

  operator const CompressedMatrix&() const { return matrix_; }

 private:
  Lent values_, scales_;
  CompressedMatrix matrix_;
};

}  // namespace tapir::testing
