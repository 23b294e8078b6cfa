//! Enums whose variants are listed, and have words, in one place.

/// An enum with the list of all its variants, in this order. With a number of words behind its name, each variant has as many: `texts`.
#[macro_export]
macro_rules! kinds {
    (
        $(#[$about:meta])*
        $visible:vis enum $name:ident {
            $($(#[$what:meta])* $kind:ident $(= $number:literal)?,)*
        }
    ) => {
        $(#[$about])*
        $visible enum $name {
            $($(#[$what])* $kind $(= $number)?,)*
        }

        impl $name {
            /// Every one, in the order of the declaration.
            pub const ALL: [$name; [$(stringify!($kind)),*].len()] = [$($name::$kind),*];
        }
    };
    (
        $(#[$about:meta])*
        $visible:vis enum $name:ident of $count:literal {
            $($(#[$what:meta])* $kind:ident $(= $number:literal)? [$($word:literal),*],)*
        }
    ) => {
        $crate::kinds! {
            $(#[$about])*
            $visible enum $name {
                $($(#[$what])* $kind $(= $number)?,)*
            }
        }

        impl $name {
            const fn texts(self) -> [&'static str; $count] {
                match self {
                    $($name::$kind => [$($word),*],)*
                }
            }
        }
    };
}
