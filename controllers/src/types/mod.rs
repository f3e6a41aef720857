//! The Agones API objects, with the fields that the loops read and write; all others are kept as they are.

mod fleet;
mod fleet_autoscaler;

pub use fleet::{Fleet, FleetSpec, FleetStatus};
pub use fleet_autoscaler::{
    BufferPolicy, FixedInterval, FleetAutoscaler, FleetAutoscalerPolicy, FleetAutoscalerSpec,
    FleetAutoscalerStatus, FleetAutoscalerSync,
};
