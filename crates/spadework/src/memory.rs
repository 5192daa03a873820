//! Checks that there is enough memory for what a step will allocate, because an allocation that fails later would end the
//! process.

use crate::error::{Error, Result};

/// Refuses what the system would not give: the room is asked for, not touched, and given back.
pub(crate) fn check_room(what: &'static str, numbers: usize) -> Result<()> {
    let bytes = numbers.saturating_mul(size_of::<f64>());
    let no_room = |_| Error::NoRoom { what, bytes };
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(no_room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::size_in_words;

    #[test]
    fn sizes_are_short() {
        assert_eq!([0, 3 << 20, 15 << 29].map(size_in_words), ["1 MiB", "3 MiB", "7.5 GiB"]);
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        check_room("nothing", 1000).unwrap();
        let error = check_room("a dense eigenproblem", 1 << 58).unwrap_err();
        assert_eq!(error, Error::NoRoom { what: "a dense eigenproblem", bytes: 1 << 61 });
        let little = Error::NoRoom { what: "a dense eigenproblem", bytes: 5 << 20 };
        assert_eq!(
            little.to_string(),
            "a dense eigenproblem would need 5 MiB of memory, more than this process can get"
        );
    }
}
