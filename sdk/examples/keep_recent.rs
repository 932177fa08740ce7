//! The smallest useful strategy: older entries go, the recent ones stay.
#![allow(missing_docs, reason = "an example")]

use contextengine_sdk::{
    CompressRequest, Compressor, Decision, Description, Dropped, Failure, Host, Outcome, Plan, Plugin, Pressure,
    Segment, Span, Urgency, View,
};

struct KeepRecent;

impl Plugin for KeepRecent {
    const ID: &'static str = "keep-recent";
    fn describe() -> Description {
        Description::new(Self::ID, env!("CARGO_PKG_VERSION"), "x")
    }
    fn configure(_config: &str) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Compressor for KeepRecent {
    fn should_compress(&self, _view: &dyn View, _host: &Host, pressure: &Pressure) -> Decision {
        if pressure.entries > pressure.budget {
            Decision::compress(Urgency::Hard, "over")
        } else {
            Decision::wait("fits")
        }
    }
    fn compress(&self, view: &dyn View, host: &Host, _request: &CompressRequest) -> Result<Outcome, Failure> {
        let n = host.count(&view.text(0, None));
        let n = n.min(view.len());
        Ok(Outcome::Compressed(Plan {
            segments: vec![
                Segment::Drop(Dropped {
                    range: Span::new(0, n),
                    reason: "old".into(),
                }),
                Segment::Keep(Span::new(n, view.len())),
            ],
        }))
    }
}

contextengine_sdk::export!(KeepRecent: Compressor);
