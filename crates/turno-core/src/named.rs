//! Enums whose values have fixed names, in the API and in the databases.

/// Declares an enum with the names of its values, as `ALL`, `as_str` and `Display`. A macro, so that neither a name nor
/// an entry of `ALL` can be missing. With `else`, names are also parsed; the vocabulary is part of the error. A value
/// behind `;` holds the names that this program does not know.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)* }
        $(else $vocabulary:expr)?
    ) => {
        $(#[$meta])*
        pub enum $enum { $($(#[$doc])* $value,)* }

        impl $enum {
            /// Every value, in the order of the declaration.
            pub const ALL: [$enum; [$($name),*].len()] = [$($enum::$value),*];

            /// Returns the name in the API and in the databases.
            pub fn as_str(self) -> &'static str {
                match self { $($enum::$value => $name,)* }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $(impl std::str::FromStr for $enum {
            type Err = crate::fault::UnknownWord;
            fn from_str(text: &str) -> Result<$enum, crate::fault::UnknownWord> {
                $vocabulary.find(text, &$enum::ALL, $enum::as_str)
            }
        })?
    };
    (
        $(#[$meta:meta])*
        pub enum $enum:ident {
            $($(#[$doc:meta])* $value:ident = $name:literal,)* ; $(#[$other_doc:meta])* $other:ident(Arc<str>),
        }
    ) => {
        $(#[$meta])*
        pub enum $enum { $($(#[$doc])* $value,)* $(#[$other_doc])* $other(std::sync::Arc<str>) }

        impl $enum {
            /// Every value that this program knows, in the order of the declaration.
            pub const ALL: [$enum; [$($name),*].len()] = [$($enum::$value),*];

            /// Returns the name as it is stored and sent.
            pub fn as_str(&self) -> &str {
                match self { $($enum::$value => $name,)* $enum::$other(name) => name }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named;
