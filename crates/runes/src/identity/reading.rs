//! The register of body text: fine print, interface, prose. Only prose may begin with a large letter.

use super::look::Look;
use super::subject::Subject;
use crate::value::truthy;

const REGISTERS: [&str; 3] = ["fine", "ui", "prose"];

/// The register of text that nobody has marked; it is not written out.
pub(super) const UNMARKED: &str = "ui";

pub(super) fn apply(subject: &Subject<'_>, look: &mut Look) {
    // A word that is no register is as good as none.
    let given = subject.tag.text("reading").filter(|word| REGISTERS.contains(word));
    let register = given.or(subject.config.default_reading.as_deref()).unwrap_or(UNMARKED);
    look.has_dropcap = register == "prose" && subject.attribute("dropcap").is_some_and(truthy);
    look.reading = register.to_owned();
}
