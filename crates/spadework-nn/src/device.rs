//! Where tensors are computed. Except for `network/libtorch.rs`, this is the only file that uses the backends of Burn.

use burn_tensor::Device;

use crate::{Error, Result};

/// The processor that networks run on.
#[derive(Debug, Clone)]
pub struct Compute {
    device: Device,
    name: String,
}

impl Default for Compute {
    fn default() -> Self {
        Self::cpu()
    }
}

impl Compute {
    /// The processor of this machine, by Burn's own kernels in Rust.
    pub fn cpu() -> Self {
        Self { device: Device::flex(), name: "cpu".to_owned() }
    }

    /// `cpu`, and in a build with the feature `libtorch` also `torch` (PyTorch on the CPU), `cuda` and `cuda:N`.
    ///
    /// # Errors
    /// When there is no such device, or it cannot be used in this build or on this machine.
    pub fn choose(name: &str) -> Result<Self> {
        match name.split_once(':').unwrap_or((name, "0")) {
            ("cpu", _) if name == "cpu" => Ok(Self::cpu()),
            ("torch", _) if name == "torch" => torch::cpu(),
            ("cuda", index) => match index.parse() {
                Ok(index) => torch::cuda(name, index),
                Err(_) => Err(unknown(name)),
            },
            _ => Err(unknown(name)),
        }
    }

    /// The word that chose it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

fn unknown(name: &str) -> Error {
    Error::Unknown { what: "device", got: name.to_owned(), known: vec!["cpu", "torch", "cuda", "cuda:N"] }
}

#[cfg(feature = "libtorch")]
mod torch {
    use burn_tensor::Device;

    use super::Compute;
    use crate::{Error, Result};

    #[expect(deprecated, reason = "the way to a GPU that needs no toolkit and no download at build time")]
    #[expect(clippy::unnecessary_wraps, reason = "as in a build without libtorch")]
    pub(super) fn cpu() -> Result<Compute> {
        Ok(Compute { device: Device::libtorch(), name: "torch".to_owned() })
    }

    /// Asked before Burn touches the device, because Burn panics where there is none.
    #[expect(deprecated, reason = "the way to a GPU that needs no toolkit and no download at build time")]
    pub(super) fn cuda(name: &str, index: usize) -> Result<Compute> {
        let devices = tch::Cuda::device_count();
        if !tch::Cuda::is_available() || index as i64 >= devices {
            let reason = if devices == 0 {
                "PyTorch finds no NVIDIA GPU or no driver for one".to_owned()
            } else {
                format!("PyTorch finds {devices} NVIDIA GPUs, counted from 0")
            };
            return Err(Error::Device { device: name.to_owned(), reason });
        }
        Ok(Compute { device: Device::libtorch_cuda(index), name: name.to_owned() })
    }
}

#[cfg(not(feature = "libtorch"))]
mod torch {
    use super::Compute;
    use crate::{Error, Result};

    pub(super) fn cpu() -> Result<Compute> {
        Err(not_built("torch"))
    }

    pub(super) fn cuda(name: &str, _index: usize) -> Result<Compute> {
        Err(not_built(name))
    }

    fn not_built(device: &str) -> Error {
        let reason = "this build has no PyTorch in it; build with the feature `libtorch`".to_owned();
        Error::Device { device: device.to_owned(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_are_not_there_are_named() {
        assert_eq!(Compute::choose("cpu").unwrap().name(), "cpu");
        let message = Compute::choose("tpu").unwrap_err().to_string();
        assert_eq!(message, "unknown device `tpu`; there are cpu, torch, cuda, cuda:N");
        assert!(Compute::choose("cuda:x").is_err());
        assert!(Compute::choose("cpu:1").is_err());
        #[cfg(not(feature = "libtorch"))]
        assert!(Compute::choose("cuda:1").unwrap_err().to_string().contains("feature `libtorch`"));
    }
}
