//! The instruction set that the kernels run on. It is chosen here and nowhere else.
//!
//! Every kernel is compiled for each instruction set in this list and asks `arch` which one to run. That is the best one of
//! the machine, unless the environment variable [`Kernels::VARIABLE`] or [`with_kernels`] selects another. Both exist for
//! tests: otherwise a machine with AVX-512 would never run the kernels of other machines.
//!
//! Libraries that the crate calls (faer's decompositions) choose for themselves.

use std::cell::Cell;
use std::sync::OnceLock;

use pulp::Arch;

use crate::error::{Error, Result};

/// An instruction set that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernels {
    /// AVX-512 (x86-64-v4).
    Avx512,
    /// AVX2 (x86-64-v3).
    Avx2,
    /// NEON (ARM). The integer kernels of the neighbor search run as plain Rust there.
    Neon,
    /// Plain Rust, which runs on every machine.
    Scalar,
}

impl Kernels {
    /// The environment variable that names the kernels to run. It is read once, at the first call that needs it.
    pub const VARIABLE: &str = "SPADEWORK_KERNELS";

    /// All of them, the best first.
    const ALL: [Kernels; 4] = [Kernels::Avx512, Kernels::Avx2, Kernels::Neon, Kernels::Scalar];

    /// The ones that this machine can run, the best first.
    pub fn available() -> Vec<Kernels> {
        Kernels::ALL.into_iter().filter(|kernels| kernels.arch().is_some()).collect()
    }

    /// The kernels that the environment requests; `None` if [`Kernels::VARIABLE`] is not set.
    ///
    /// Kernels that cannot run are not replaced silently: call this at the start of a program, and stop on an error.
    ///
    /// # Errors
    /// [`Error::Kernels`] when the variable names none of the kernels, or some that this machine cannot run.
    /// If the variable is wrong and nobody calls this, the best kernels run.
    pub fn requested() -> Result<Option<Kernels>> {
        static REQUESTED: OnceLock<Result<Option<Kernels>>> = OnceLock::new();
        REQUESTED.get_or_init(|| read(std::env::var_os(Kernels::VARIABLE).as_deref())).clone()
    }

    /// The ones that run in this thread.
    pub fn in_use() -> Kernels {
        static USUAL: OnceLock<Kernels> = OnceLock::new();
        let usual =
            || *USUAL.get_or_init(|| Kernels::requested().ok().flatten().unwrap_or_else(Kernels::best));
        OVERRIDE.get().unwrap_or_else(usual)
    }

    fn best() -> Kernels {
        Kernels::ALL.into_iter().find(|kernels| kernels.arch().is_some()).unwrap_or(Kernels::Scalar)
    }

    /// How to call them, where the machine can.
    fn arch(self) -> Option<Arch> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512 => pulp::x86::V4::try_new().map(Arch::V4),
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2 => pulp::x86::V3::try_new().map(Arch::V3),
            #[cfg(target_arch = "aarch64")]
            Kernels::Neon => pulp::aarch64::Neon::try_new().map(Arch::Neon),
            Kernels::Scalar => Some(Arch::Scalar),
            #[allow(unreachable_patterns)] // Which ones are left depends on the target.
            _ => None,
        }
    }
}

words! { Kernels { Avx512 = "avx512", Avx2 = "avx2", Neon = "neon", Scalar = "scalar" } }

/// What a value of the variable asks for.
fn read(value: Option<&std::ffi::OsStr>) -> Result<Option<Kernels>> {
    let Some(value) = value else { return Ok(None) };
    let kernels = value.to_str().and_then(|word| word.parse::<Kernels>().ok());
    match kernels.filter(|kernels| kernels.arch().is_some()) {
        Some(kernels) => Ok(Some(kernels)),
        None => {
            Err(Error::Kernels { got: value.to_string_lossy().into_owned(), available: available_words() })
        }
    }
}

fn available_words() -> String {
    Kernels::available().iter().map(Kernels::to_string).collect::<Vec<_>>().join(", ")
}

thread_local! {
    static OVERRIDE: Cell<Option<Kernels>> = const { Cell::new(None) };
}

/// The instruction set of this thread, for crates that have kernels of their own.
#[inline]
pub fn arch() -> Arch {
    Kernels::in_use().arch().unwrap_or(Arch::Scalar)
}

/// What [`with_kernels`] named for this thread, for the threads that work for it.
pub(crate) fn inherited() -> Option<Kernels> {
    OVERRIDE.get()
}

/// Lets this thread run what the thread that started it runs.
pub(crate) fn inherit(kernels: Option<Kernels>) {
    OVERRIDE.set(kernels);
}

/// Runs some work on these kernels, in a pool of as many threads as the current one has.
///
/// For tests that compare kernels with each other. Work outside is not affected, even while this one runs.
///
/// # Errors
/// [`Error::Kernels`] when this machine cannot run them, [`Error::Threads`] when the pool cannot be started.
pub fn with_kernels<T: Send>(kernels: Kernels, work: impl FnOnce() -> T + Send) -> Result<T> {
    if kernels.arch().is_none() {
        return Err(Error::Kernels { got: kernels.to_string(), available: available_words() });
    }
    let threads = rayon::current_num_threads();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(move |_| inherit(Some(kernels)))
        .build()
        .map_err(|_| Error::Threads { threads })?;
    Ok(pool.install(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::num::NonZeroUsize;

    #[test]
    fn words_name_the_kernels() {
        for kernels in Kernels::ALL {
            assert_eq!(kernels.to_string().parse(), Ok(kernels));
        }
        assert!("AVX2".parse::<Kernels>().is_err() && "".parse::<Kernels>().is_err());
    }

    #[test]
    fn the_variable_names_kernels_that_the_machine_has() {
        assert_eq!(read(None), Ok(None));
        for kernels in Kernels::ALL {
            let read = read(Some(OsStr::new(&kernels.to_string())));
            if Kernels::available().contains(&kernels) {
                assert_eq!(read, Ok(Some(kernels)));
            } else {
                assert!(matches!(read, Err(Error::Kernels { .. })), "{kernels}: {read:?}");
            }
        }
        let error = read(Some(OsStr::new("sse9"))).unwrap_err().to_string();
        assert!(
            error.starts_with("SPADEWORK_KERNELS must be one of ") && error.ends_with("got sse9"),
            "{error}"
        );
        assert!(error.contains("scalar"), "{error}");
    }

    /// So that a test run with a mistyped variable fails, and does not test the best kernels once more.
    #[test]
    fn the_environment_of_this_run_names_kernels_that_are_there() {
        let requested = Kernels::requested().expect("SPADEWORK_KERNELS");
        assert_eq!(Kernels::in_use(), requested.unwrap_or_else(Kernels::best));
        assert!(Kernels::available().contains(&Kernels::in_use()));
    }

    #[test]
    fn named_kernels_run_in_every_thread_of_the_work_and_nowhere_else() {
        let outside = Kernels::in_use();
        for kernels in Kernels::available() {
            with_kernels(kernels, || {
                assert_eq!(
                    rayon::broadcast(|_| Kernels::in_use()),
                    vec![kernels; rayon::current_num_threads()]
                );
                let inner: Result<_> = crate::threads::with_threads(NonZeroUsize::new(3), || {
                    Ok(rayon::broadcast(|_| Kernels::in_use()))
                });
                assert_eq!(inner, Ok(vec![kernels; 3]), "a pool that the work starts");
            })
            .unwrap();
            assert_eq!(Kernels::in_use(), outside);
        }
    }
}
