"""Quantization: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """DeQuantStub FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize
        FixedQParamsObserver FusedMovingAvgObsFakeQuantize HistogramObserver MinMaxObserver
        MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver NoopObserver
        ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping
        QuantStub QuantType QuantWrapper add_quant_dequant convert default_dynamic_qconfig
        default_fake_quant default_observer default_per_channel_qconfig default_qconfig
        default_weight_observer disable_fake_quant disable_observer enable_fake_quant
        enable_observer float16_dynamic_qconfig fuse_modules fuse_modules_qat
        get_default_qat_qconfig get_default_qat_qconfig_mapping get_default_qconfig
        get_default_qconfig_mapping observer prepare prepare_qat propagate_qconfig_ qconfig
        quantize quantize_dynamic quantize_fx quantize_qat swap_module""",
        until="use float32, or float16 and bfloat16 for storage.",
        chapter="45-quantization",
        fuse_modules="call nn.utils.fuse_conv_bn_eval and fuse_linear_bn_eval.",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
