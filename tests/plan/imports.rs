use crate::{planned, root, sources};

#[test]
fn imports_outside_of_tests_begin_at_the_crate() {
    let mut relative = Vec::new();
    for (_, folder) in planned() {
        for (path, text) in sources(folder) {
            let path = path.strip_prefix(root()).unwrap_or(&path).display();
            let lines = text.lines().enumerate();
            let found = lines.filter(|(_, line)| line.contains("use super::"));
            relative.extend(found.map(|(at, line)| format!("{path}:{}: {line}", at + 1)));
        }
    }
    assert_eq!(relative, [""; 0], "a reader sees where `crate::…` leads");
}
