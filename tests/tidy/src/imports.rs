//! Which source file imports which. A package is read as text. Its modules are its files. Imports of a file are its `use` declarations and
//! the paths that begin at the crate, at the module itself, at one above it or at one that it declares. What only tests use is left
//! out, and so are declarations of modules.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item};

/// The segments of a path: of a module from the root of its crate, or of what a file names.
type Path = Vec<String>;

/// The files of one package, and what each imports from the others.
#[derive(Debug, Default)]
pub struct Imports {
    /// By the importing and the imported file: the names, each with the first line in which it is used.
    pub edges: BTreeMap<(String, String), BTreeMap<String, usize>>,
    /// The files that were read.
    pub files: BTreeSet<String>,
    /// By the file and the path that it uses, as it is written: the first line. Those of its own package are among them.
    pub written: BTreeMap<(String, String), usize>,
}

/// A file as it was read.
#[derive(Debug, Default)]
struct Source {
    file: String,
    /// Modules that it declares, by their paths.
    declared: BTreeSet<Path>,
    /// Each use of a path, with the module and the line in which it stands.
    used: Vec<(Path, Path, usize)>,
    /// What it makes visible under another path: from the module and the name to the path it stands for, or `*`.
    exported: Vec<(Path, String, Path, usize)>,
}

/// Reads the files of a package: their paths and texts. `root` is the folder that ends in `src/`.
///
/// # Errors
/// When a file is not Rust.
pub fn imports<'a>(
    root: &str,
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Imports, String> {
    let mut sources: BTreeMap<Path, Source> = BTreeMap::new();
    for (file, text) in files {
        let Some(module) = module_of(root, file) else { continue };
        let parsed = syn::parse_file(text).map_err(|error| format!("{file}: {error}"))?;
        let mut source = Source { file: file.to_owned(), ..Source::default() };
        read_items(parsed.items, &module, &mut source);
        // A library beside a program: both are roots, the program imports the library by its name.
        let module = if file.ends_with("/main.rs") { vec!["main".to_owned()] } else { module };
        sources.insert(module, source);
    }
    let mut imports = Imports::default();
    for source in sources.values() {
        imports.files.insert(source.file.clone());
        let exported = source.exported.iter().map(|(_, _, path, line)| (path, line));
        for (path, line) in source.used.iter().map(|(_, path, line)| (path, line)).chain(exported) {
            let first = imports.written.entry((source.file.clone(), path.join("::"))).or_insert(*line);
            *first = (*first).min(*line);
        }
        for (module, path, line) in &source.used {
            let Some(path) = absolute(module, path, source) else { continue };
            if let Some(target) = resolve(&path, &sources, 0).filter(|target| *target != source.file) {
                let name = path.last().cloned().unwrap_or_default();
                let names = imports.edges.entry((source.file.clone(), target)).or_default();
                let first = names.entry(name).or_insert(*line);
                *first = (*first).min(*line);
            }
        }
    }
    Ok(imports)
}

impl Imports {
    /// Groups of files each of which imports, by way of others, all of its group.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let edges = self.edges.keys().map(|(from, to)| (from.as_str(), to.as_str(), ()));
        let graph: petgraph::graphmap::DiGraphMap<&str, (), std::hash::RandomState> = edges.collect();
        let groups = petgraph::algo::tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
        let mut circles: Vec<Vec<String>> =
            groups.map(|group| group.into_iter().map(str::to_owned).collect()).collect();
        circles.iter_mut().for_each(|circle| circle.sort());
        circles.sort();
        circles
    }

    /// What ties a circle: a line for each import within it.
    pub fn describe(&self, circle: &[String]) -> String {
        let is_in = |file: &String| circle.contains(file);
        let edges = self.edges.iter().filter(|((from, to), _)| is_in(from) && is_in(to));
        edges
            .map(|((from, to), names)| {
                let names: Vec<&str> = names.keys().map(String::as_str).collect();
                format!("  {from} imports {} from {to}\n", names.join(", "))
            })
            .collect()
    }
}

/// The module of a file; `None`: it holds tests only.
fn module_of(root: &str, file: &str) -> Option<Path> {
    let path = file.strip_prefix(root)?.strip_suffix(".rs")?;
    let mut parts: Path = path.split('/').map(str::to_owned).collect();
    if parts.iter().any(|part| part == "tests") {
        return None;
    }
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    Some(parts)
}

/// Takes what the items of a module declare, use and export.
fn read_items(items: Vec<Item>, module: &Path, source: &mut Source) {
    for item in items.iter().filter(|item| !is_for_tests(item)) {
        if let Item::Mod(inner) = item {
            source.declared.insert(joined(module, &[inner.ident.to_string()]));
        }
    }
    for item in items.into_iter().filter(|item| !is_for_tests(item)) {
        match item {
            Item::Mod(inner) => {
                let module = joined(module, &[inner.ident.to_string()]);
                if let Some((_, items)) = inner.content {
                    read_items(items, &module, source);
                }
            }
            Item::Use(declaration) => {
                let is_exported = !matches!(declaration.vis, syn::Visibility::Inherited);
                let mut paths = Vec::new();
                read_tree(&declaration.tree, Vec::new(), &mut paths);
                for (path, name, line) in paths {
                    if is_exported {
                        source.exported.push((module.clone(), name, path.clone(), line));
                    } else {
                        source.used.push((module.clone(), path, line));
                    }
                }
            }
            item => read_paths(item.to_token_stream(), module, source),
        }
    }
}

fn is_for_tests(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.to_token_stream().to_string().contains("(test")
    })
}

/// The paths of a `use` tree, each with the name that it is known by afterwards, and the line.
fn read_tree(tree: &syn::UseTree, before: Path, paths: &mut Vec<(Path, String, usize)>) {
    use syn::spanned::Spanned;
    let line = tree.span().start().line;
    match tree {
        syn::UseTree::Path(path) => read_tree(&path.tree, joined(&before, &[path.ident.to_string()]), paths),
        syn::UseTree::Name(name) if name.ident == "self" => {
            let name = before.last().cloned().unwrap_or_default();
            paths.push((before, name, line));
        }
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            paths.push((joined(&before, std::slice::from_ref(&name)), name, line));
        }
        syn::UseTree::Rename(rename) => {
            paths.push((joined(&before, &[rename.ident.to_string()]), rename.rename.to_string(), line));
        }
        syn::UseTree::Glob(_) => {
            paths.push((joined(&before, &["*".to_owned()]), "*".to_owned(), line));
        }
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|tree| read_tree(tree, before.clone(), paths));
        }
    }
}

/// Takes the paths of two or more segments in these tokens, macros included.
fn read_paths(tokens: TokenStream, module: &Path, source: &mut Source) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_colon =
        |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let is_separator = |at: usize| is_colon(at) && is_colon(at + 1);
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => read_paths(group.stream(), module, source),
            TokenTree::Ident(ident) if ident == "use" && !is_separator(at + 1) => {
                let rest: TokenStream = tokens[at..].iter().cloned().collect();
                let end = tokens[at..]
                    .iter()
                    .position(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';'));
                let declaration: TokenStream =
                    end.map_or(rest, |end| tokens[at..=at + end].iter().cloned().collect());
                if let Ok(declaration) = syn::parse2::<syn::ItemUse>(declaration) {
                    let mut paths = Vec::new();
                    read_tree(&declaration.tree, Vec::new(), &mut paths);
                    source.used.extend(paths.into_iter().map(|(path, _, line)| (module.clone(), path, line)));
                    at += end.unwrap_or(0);
                }
            }
            TokenTree::Ident(ident) if is_separator(at + 1) && !(at >= 2 && is_separator(at - 2)) => {
                let line = ident.span().start().line;
                let mut path = vec![ident.to_string()];
                while let (true, Some(TokenTree::Ident(next))) = (is_separator(at + 1), tokens.get(at + 3)) {
                    path.push(next.to_string());
                    at += 3;
                }
                source.used.push((module.clone(), path, line));
            }
            _ => {}
        }
        at += 1;
    }
}

/// A path from the root of the crate; `None`: it leads out of the crate, or begins with a name that an import has brought.
fn absolute(module: &Path, path: &[String], source: &Source) -> Option<Path> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some(joined(module, rest)),
        "super" => {
            let above = module.split_last()?.1.to_vec();
            let is_again = rest.first().is_some_and(|next| next == "super");
            if is_again { absolute(&above, rest, source) } else { Some(joined(&above, rest)) }
        }
        _ => {
            let declared = joined(module, std::slice::from_ref(first));
            source.declared.contains(&declared).then(|| joined(&declared, rest))
        }
    }
}

/// The file in which what a path names is.
fn resolve(path: &[String], sources: &BTreeMap<Path, Source>, depth: usize) -> Option<String> {
    const MOST_EXPORTS: usize = 8;
    // The deepest module with a file of its own.
    let (source, length) = (0..=path.len()).rev().find_map(|length| {
        let source = sources.get(&path[..length])?;
        Some((source, length))
    })?;
    if let Some(name) = path.get(length).filter(|_| depth < MOST_EXPORTS) {
        for (module, exported, target, _) in &source.exported {
            if module.as_slice() != &path[..length] || (exported != name && exported != "*") {
                continue;
            }
            let Some(mut target) = absolute(module, target, source) else { continue };
            if exported == "*" {
                target.pop();
                target.push(name.clone());
            }
            let found = resolve(&joined(&target, &path[length + 1..]), sources, depth + 1);
            if exported != "*" || found.as_ref().is_some_and(|file| *file != source.file) {
                return found;
            }
        }
    }
    Some(source.file.clone())
}

fn joined(before: &[String], after: &[String]) -> Path {
    before.iter().chain(after).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports among these files of a package: `from to: names`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let imports = imports("src/", files.iter().copied()).expect("it is Rust");
        let line = |((from, to), names): (&(String, String), &BTreeMap<String, usize>)| {
            let names: Vec<&str> = names.keys().map(String::as_str).collect();
            format!("{from} {to}: {}", names.join(" "))
        };
        imports.edges.iter().map(line).collect()
    }

    #[test]
    fn imports_are_found_where_they_stand() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c;"),
            (
                "src/a.rs",
                "use crate::b::{B, inner::C as D}; fn f() { g(|| crate::c::h(1)); print!(\"{}\", super::c::K); }",
            ),
            ("src/b/mod.rs", "pub mod inner; pub struct B; fn f() { use super::c::L; inner::C; }"),
            (
                "src/b/inner.rs",
                "pub struct C; use std::fmt; use self::other; mod m { use super::super::super::c::M; }",
            ),
            ("src/c.rs", ""),
        ];
        assert_eq!(
            edges(&files),
            [
                "src/a.rs src/b/inner.rs: C",
                "src/a.rs src/b/mod.rs: B",
                "src/a.rs src/c.rs: K h",
                "src/b/inner.rs src/c.rs: M",
                "src/b/mod.rs src/b/inner.rs: C",
                "src/b/mod.rs src/c.rs: L",
            ]
        );
    }

    #[test]
    fn a_name_that_is_passed_on_is_where_it_was_made() {
        let files = [
            ("src/lib.rs", "mod a; mod b; pub use a::A; pub use b::*;"),
            ("src/a.rs", "use crate::{B, Own};"),
            ("src/b.rs", "pub struct B; use crate::A;"),
        ];
        assert_eq!(edges(&files), ["src/a.rs src/b.rs: B Own", "src/b.rs src/a.rs: A"]);
    }

    #[test]
    fn what_only_tests_import_does_not_count() {
        let files = [
            ("src/main.rs", "mod a; mod b;"),
            ("src/a.rs", "#[cfg(test)] mod tests { use crate::b::B; } #[cfg(test)] use crate::b::B;"),
            ("src/a/tests.rs", "use crate::b::B;"),
            ("src/b.rs", "pub struct B;"),
        ];
        assert!(edges(&files).is_empty());
    }

    #[test]
    fn a_circle_is_found_and_described() {
        let files = [
            ("src/lib.rs", "mod a; mod b; mod c; mod d;"),
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use crate::c::C;"),
            ("src/c.rs", "use crate::a::A; use crate::d::D;"),
            ("src/d.rs", "use crate::d::D;"),
        ];
        let imports = imports("src/", files).expect("it is Rust");
        assert_eq!(imports.circles(), [["src/a.rs", "src/b.rs", "src/c.rs"]]);
        let described = imports.describe(&imports.circles()[0]);
        assert_eq!(
            described,
            "  src/a.rs imports B from src/b.rs\n  src/b.rs imports C from src/c.rs\n  src/c.rs imports A from src/a.rs\n"
        );
    }

    #[test]
    fn what_is_not_rust_is_an_error() {
        assert!(
            imports("src/", [("src/lib.rs", "fn (")]).is_err_and(|error| error.starts_with("src/lib.rs: "))
        );
    }
}
