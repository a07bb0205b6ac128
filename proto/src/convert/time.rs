//! Moments and lengths of time, both ways.
//!
//! Hostile numbers end in an error: what the standard library would panic or wrap on is checked first.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost_types::{Duration as WireDuration, Timestamp};

use super::InvalidMessage;

/// Nanoseconds in a second.
const NANOS: u32 = 1_000_000_000;

/// The last second that RFC 3339 can write (9999-12-31T23:59:59Z), and so the last that protobuf allows.
const LAST_SECOND: i64 = 253_402_300_799;

/// A moment on the wire. Moments before 1970 or after 9999, which no clock of ours shows, become these borders.
#[must_use]
pub fn timestamp_of(moment: SystemTime) -> Timestamp {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(LAST_SECOND);
    if seconds > LAST_SECOND {
        return Timestamp {
            seconds: LAST_SECOND,
            nanos: 999_999_999,
        };
    }
    Timestamp {
        seconds,
        nanos: i32::try_from(since.subsec_nanos()).unwrap_or_default(),
    }
}

/// Reads a moment between 1970 and 9999.
///
/// # Errors
/// If it lies outside, or its nanoseconds are no fraction of a second.
pub fn moment_from_wire(field: &str, timestamp: &Timestamp) -> Result<SystemTime, InvalidMessage> {
    let (Ok(seconds), Some(nanos)) = (u64::try_from(timestamp.seconds), fraction(timestamp.nanos)) else {
        return Err(InvalidMessage::new(field, "is not a time after 1970"));
    };
    if timestamp.seconds > LAST_SECOND {
        return Err(InvalidMessage::new(field, "is a time after the year 9999"));
    }
    UNIX_EPOCH
        .checked_add(Duration::new(seconds, nanos))
        .ok_or_else(|| InvalidMessage::new(field, "is a time that this computer cannot hold"))
}

/// A length of time on the wire; what is longer than protobuf allows (about 10,000 years) becomes that.
#[must_use]
pub fn duration_of(duration: Duration) -> WireDuration {
    /// The longest that protobuf allows, in seconds.
    const LONGEST: i64 = 315_576_000_000;
    match i64::try_from(duration.as_secs()) {
        Ok(seconds) if seconds <= LONGEST => WireDuration {
            seconds,
            nanos: i32::try_from(duration.subsec_nanos()).unwrap_or_default(),
        },
        _ => WireDuration {
            seconds: LONGEST,
            nanos: 0,
        },
    }
}

/// Reads a length of time that is not negative.
///
/// # Errors
/// If it is negative, or its nanoseconds are no fraction of a second.
pub fn duration_from_wire(field: &str, duration: &WireDuration) -> Result<Duration, InvalidMessage> {
    match (u64::try_from(duration.seconds), fraction(duration.nanos)) {
        (Ok(seconds), Some(nanos)) => Ok(Duration::new(seconds, nanos)),
        _ => Err(InvalidMessage::new(
            field,
            "is negative, or its nanoseconds are no fraction of a second",
        )),
    }
}

/// Nanoseconds below one second.
fn fraction(nanos: i32) -> Option<u32> {
    u32::try_from(nanos).ok().filter(|nanos| *nanos < NANOS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_the_numbers_nothing_panics(seconds: i64, nanos: i32) {
            let moment = moment_from_wire("t", &Timestamp { seconds, nanos });
            if let Ok(moment) = moment {
                prop_assert_eq!(timestamp_of(moment), Timestamp { seconds, nanos });
            }
            let duration = duration_from_wire("d", &WireDuration { seconds, nanos });
            if let Ok(duration) = duration {
                let _ = duration_of(duration);
            }
        }

        #[test]
        fn moments_and_lengths_come_back(seconds in 0..=LAST_SECOND, nanos in 0..1_000_000_000_i32) {
            let stamp = Timestamp { seconds, nanos };
            prop_assert_eq!(timestamp_of(moment_from_wire("t", &stamp).unwrap()), stamp);
            let length = WireDuration { seconds, nanos };
            prop_assert_eq!(duration_of(duration_from_wire("d", &length).unwrap()), length);
        }
    }

    #[test]
    fn what_lies_outside_is_refused_or_bounded() {
        assert!(moment_from_wire("t", &Timestamp { seconds: -1, nanos: 0 }).is_err());
        assert!(
            moment_from_wire(
                "t",
                &Timestamp {
                    seconds: LAST_SECOND + 1,
                    nanos: 0
                }
            )
            .is_err()
        );
        assert!(duration_from_wire("d", &WireDuration { seconds: 0, nanos: -1 }).is_err());
        assert_eq!(timestamp_of(UNIX_EPOCH - Duration::from_secs(9)).seconds, 0);
        assert_eq!(duration_of(Duration::MAX).nanos, 0);
    }
}
