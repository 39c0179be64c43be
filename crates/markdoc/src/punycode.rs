//! Internationalised host names: the encoding of RFC 3492, label by label, with the lenient rules of markdown-it. The
//! crate `idna` follows WHATWG and rejects names that markdown-it accepts.

const BASE: u32 = 36;
const THRESHOLD_MIN: u32 = 1;
const THRESHOLD_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const BIAS_FIRST: u32 = 72;
const CODE_FIRST: u32 = 128;

/// A host name in ASCII. A name that cannot be encoded is returned unchanged.
pub(crate) fn to_ascii(host: &str) -> String {
    map_labels(host, |label| {
        if label.is_ascii() { Some(label.to_owned()) } else { Some(format!("xn--{}", encode(label)?)) }
    })
    .unwrap_or_else(|| host.to_owned())
}

/// A host name in Unicode. A name that cannot be decoded is returned unchanged.
pub(crate) fn to_unicode(host: &str) -> String {
    map_labels(host, |label| match label.strip_prefix("xn--") {
        Some(encoded) => decode(&encoded.to_lowercase()),
        None => Some(label.to_owned()),
    })
    .unwrap_or_else(|| host.to_owned())
}

/// Applies `convert` to every label. The part before an `@` is not a host. East Asian full stops also separate labels.
fn map_labels(host: &str, convert: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (user, host) = match host.split_once('@') {
        Some((user, host)) => (format!("{user}@"), host),
        None => (String::new(), host),
    };
    let host = host.replace(['\u{3002}', '\u{FF0E}', '\u{FF61}'], ".");
    let labels: Option<Vec<String>> = host.split('.').map(convert).collect();
    Some(user + &labels?.join("."))
}

fn encode(label: &str) -> Option<String> {
    let mut output: String = label.chars().filter(char::is_ascii).collect();
    let basic = output.len() as u32;
    if basic > 0 {
        output.push('-');
    }
    let total = label.chars().count() as u32;
    let (mut code, mut delta, mut bias, mut handled) = (CODE_FIRST, 0_u32, BIAS_FIRST, basic);
    while handled < total {
        let next = label.chars().map(u32::from).filter(|c| *c >= code).min()?;
        delta = delta.checked_add((next - code).checked_mul(handled + 1)?)?;
        code = next;
        for c in label.chars().map(u32::from) {
            if c < code {
                delta = delta.checked_add(1)?;
            }
            if c == code {
                let mut rest = delta;
                let mut step = BASE;
                loop {
                    let threshold = digit_threshold(step, bias);
                    if rest < threshold {
                        break;
                    }
                    output.push(encode_digit(threshold + (rest - threshold) % (BASE - threshold))?);
                    rest = (rest - threshold) / (BASE - threshold);
                    step += BASE;
                }
                output.push(encode_digit(rest)?);
                bias = adapt_bias(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        code += 1;
    }
    Some(output)
}

fn decode(text: &str) -> Option<String> {
    let (basic, rest) = match text.rsplit_once('-') {
        Some((basic, rest)) if !basic.is_empty() => (basic, rest),
        _ => ("", text),
    };
    if !basic.is_ascii() {
        return None;
    }
    let mut output: Vec<char> = basic.chars().collect();
    let (mut code, mut index, mut bias) = (CODE_FIRST, 0_u32, BIAS_FIRST);
    let mut digits = rest.chars();
    while !digits.as_str().is_empty() {
        let before = index;
        let (mut weight, mut step) = (1_u32, BASE);
        loop {
            let digit = digits.next()?.to_digit(36)?;
            // Punycode digits: letters first, then digits.
            let digit = if digit >= 10 { digit - 10 } else { digit + 26 };
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = digit_threshold(step, bias);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            step += BASE;
        }
        let length = output.len() as u32 + 1;
        bias = adapt_bias(index - before, length, before == 0);
        code = code.checked_add(index / length)?;
        index %= length;
        output.insert(index as usize, char::from_u32(code)?);
        index += 1;
    }
    Some(output.into_iter().collect())
}

fn digit_threshold(step: u32, bias: u32) -> u32 {
    step.saturating_sub(bias).clamp(THRESHOLD_MIN, THRESHOLD_MAX)
}

fn adapt_bias(delta: u32, count: u32, first: bool) -> u32 {
    let mut delta = if first { delta / DAMP } else { delta / 2 };
    delta += delta / count;
    let mut steps = 0;
    while delta > (BASE - THRESHOLD_MIN) * THRESHOLD_MAX / 2 {
        delta /= BASE - THRESHOLD_MIN;
        steps += BASE;
    }
    steps + (BASE - THRESHOLD_MIN + 1) * delta / (delta + SKEW)
}

fn encode_digit(value: u32) -> Option<char> {
    let value = u8::try_from(value).ok()?;
    Some(char::from(if value < 26 { b'a' + value } else { b'0' + value - 26 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punycode_round_trips() {
        for (unicode, ascii) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("ü.com", "xn--tda.com"),
            ("例え.テスト", "xn--r8jz45g.xn--zckzah"),
            ("plain.example", "plain.example"),
        ] {
            assert_eq!(to_ascii(unicode), ascii);
            assert_eq!(to_unicode(ascii), unicode);
        }
        assert_eq!(to_ascii("a\u{3002}b"), "a.b");
        assert_eq!(to_unicode("xn--!!!.x"), "xn--!!!.x");
    }
}
