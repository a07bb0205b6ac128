//! Environments of commands, as the kernel takes them: entries `NAME=value`, any bytes.

/// Sets a variable, whatever it was.
pub fn set(environment: &mut Vec<Vec<u8>>, name: &str, value: &str) {
    environment.retain(|variable| value_in(variable, name).is_none());
    environment.push(format!("{name}={value}").into_bytes());
}

/// The value of a variable; of the first of that name.
#[must_use]
pub fn value_of<'a>(environment: &'a [Vec<u8>], name: &str) -> Option<&'a [u8]> {
    environment.iter().find_map(|variable| value_in(variable, name))
}

fn value_in<'a>(variable: &'a [u8], name: &str) -> Option<&'a [u8]> {
    variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}
