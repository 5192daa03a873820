//! Macros for code that would otherwise be repeated for every enum with words and every struct of parameters.

/// One word per variant: `Display` writes it, and `FromStr` reads it or lists all words. With `written` before the name there is
/// no `FromStr`. For the crates of this workspace.
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (written $choice:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl ::std::fmt::Display for $choice {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self {
                    $($choice::$variant => $word),+
                })
            }
        }
    };
    (listed $only:literal) => { $only };
    (listed $one:literal $other:literal) => { concat!($one, " or ", $other) };
    (listed $first:literal $($rest:literal)+) => { concat!($first, ", ", $crate::words!(listed $($rest)+)) };
    ($choice:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $crate::words! { written $choice { $($variant = $word),+ } }

        impl ::std::str::FromStr for $choice {
            type Err = $crate::error::UnknownWord;

            fn from_str(word: &str) -> ::std::result::Result<Self, Self::Err> {
                match word {
                    $($word => Ok($choice::$variant),)+
                    _ => Err($crate::error::UnknownWord::new($crate::words!(listed $($word)+))),
                }
            }
        }
    };
}

/// Methods that return parameters with one field changed. For the crates of this workspace.
#[doc(hidden)]
#[macro_export]
macro_rules! with_methods {
    ($params:ident { $($with:ident($field:ident: $kind:ty)),+ $(,)? }) => {
        impl $params {
            $(
                #[doc = concat!("The same with another [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $with(self, $field: $kind) -> Self {
                    Self { $field, ..self }
                }
            )+
        }
    };
}
