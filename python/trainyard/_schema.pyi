# SPDX-License-Identifier: Apache-2.0
# Made by `python -m trainyard._stubs python/trainyard/_schema.pyi`; do not edit.
from typing import Any, Dict, Literal, Mapping, Sequence, Union

from ._message import Message, Repeated

DeltaEmbeddingQuantType = Literal["DELTA_EMBEDDING_QUANT_NONE", "DELTA_EMBEDDING_QUANT_INT8"]
WeightDecayMode = Literal["NONE", "L2", "DECOUPLE"]
DatasetType = Literal["OdpsDataset", "ParquetDataset", "CsvDataset", "OdpsDatasetV1", "KafkaDataset", "SlotDataset"]
FieldType = Literal["INT32", "INT64", "STRING", "FLOAT", "DOUBLE", "ARRAY_INT32", "ARRAY_INT64", "ARRAY_STRING", "ARRAY_FLOAT", "ARRAY_DOUBLE", "ARRAY_ARRAY_INT32", "ARRAY_ARRAY_INT64", "ARRAY_ARRAY_STRING", "ARRAY_ARRAY_FLOAT", "ARRAY_ARRAY_DOUBLE", "MAP_STRING_INT32", "MAP_STRING_INT64", "MAP_STRING_STRING", "MAP_STRING_FLOAT", "MAP_STRING_DOUBLE", "MAP_INT64_INT32", "MAP_INT64_INT64", "MAP_INT64_STRING", "MAP_INT64_FLOAT", "MAP_INT64_DOUBLE", "MAP_INT32_INT32", "MAP_INT32_INT64", "MAP_INT32_STRING", "MAP_INT32_FLOAT", "MAP_INT32_DOUBLE"]
FgMode = Literal["FG_NONE", "FG_NORMAL", "FG_DAG", "FG_BUCKETIZE"]
TextNormalizeOption = Literal["TEXT_LOWER2UPPER", "TEXT_UPPER2LOWER", "TEXT_SBC2DBC", "TEXT_CHT2CHS", "TEXT_FILTER", "TEXT_SPLITCHRS", "TEXT_REMOVE_SPACE"]
FeatureGroupType = Literal["DEEP", "WIDE", "SEQUENCE", "JAGGED_SEQUENCE"]
Kernel = Literal["TRITON", "PYTORCH", "CUTLASS"]
Similarity = Literal["COSINE", "INNER_PRODUCT", "EUCLID"]
UserSeqCombineMethod = Literal["CONCAT", "SUM"]


class EasyRecConfig(Message):
    """a whole training run: data, features, model and how to train it"""
    train_input_path: str
    """training data: files, a glob, several separated by ',', or a table (required)"""
    eval_input_path: str
    """evaluation data; empty: no evaluation during training (required)"""
    model_dir: str
    """directory for checkpoints, logs and the effective config (required)"""
    @property
    def train_config(self) -> TrainConfig:
        """how long and with which optimizers to train"""
        ...
    @train_config.setter
    def train_config(self, value: Union[TrainConfig, Mapping[str, Any]]) -> None: ...
    @property
    def eval_config(self) -> EvalConfig:
        """how to evaluate"""
        ...
    @eval_config.setter
    def eval_config(self, value: Union[EvalConfig, Mapping[str, Any]]) -> None: ...
    @property
    def export_config(self) -> ExportConfig:
        """which checkpoint to export, and how"""
        ...
    @export_config.setter
    def export_config(self, value: Union[ExportConfig, Mapping[str, Any]]) -> None: ...
    @property
    def data_config(self) -> DataConfig:
        """how rows are read, labelled and sampled"""
        ...
    @data_config.setter
    def data_config(self, value: Union[DataConfig, Mapping[str, Any]]) -> None: ...
    @property
    def feature_configs(self) -> Repeated[FeatureConfig]:
        """the features; their order is the column order inside the model"""
        ...
    @feature_configs.setter
    def feature_configs(self, value: Union[Repeated[FeatureConfig], Sequence[Union[FeatureConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def model_config(self) -> ModelConfig:
        """the model, its feature groups, losses and metrics"""
        ...
    @model_config.setter
    def model_config(self, value: Union[ModelConfig, Mapping[str, Any]]) -> None: ...


class TrainConfig(Message):
    """length of training, optimizers, checkpoints, precision"""
    @property
    def sparse_optimizer(self) -> SparseOptimizer:
        """optimizer of the embedding tables (required)"""
        ...
    @sparse_optimizer.setter
    def sparse_optimizer(self, value: Union[SparseOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def dense_optimizer(self) -> DenseOptimizer:
        """optimizer of all other parameters (required)"""
        ...
    @dense_optimizer.setter
    def dense_optimizer(self, value: Union[DenseOptimizer, Mapping[str, Any]]) -> None: ...
    num_steps: int
    """stop after this many batches per process; 0 or unset: no limit"""
    num_epochs: int
    """stop after this many passes over the data; 0 or unset: no limit"""
    save_checkpoints_steps: int
    """save a checkpoint every so many steps; 0: never"""
    fine_tune_checkpoint: str
    """start from the parameters of this checkpoint, or of the newest one in this directory"""
    fine_tune_ckpt_param_map: str
    """text file that maps parameter names of the model to names in fine_tune_checkpoint, separated by a tab (also written fine_tune_ckpt_var_map)"""
    log_step_count_steps: int
    """log losses and speed every so many steps"""
    is_profiling: bool
    """record a profile of some steps"""
    use_tensorboard: bool
    """write TensorBoard event files to model_dir"""
    save_checkpoints_epochs: int
    """save every so many passes over the data; above 0 it replaces save_checkpoints_steps"""
    @property
    def tensorboard_summaries(self) -> Repeated[Literal["loss", "learning_rate", "parameter", "global_gradient_norm", "gradient_norm", "gradient"]]:
        """what else TensorBoard gets; loss and learning_rate are always written (one of 'loss', 'learning_rate', 'parameter', 'global_gradient_norm', 'gradient_norm', 'gradient')"""
        ...
    @tensorboard_summaries.setter
    def tensorboard_summaries(self, value: Union[Repeated[Literal["loss", "learning_rate", "parameter", "global_gradient_norm", "gradient_norm", "gradient"]], Sequence[Literal["loss", "learning_rate", "parameter", "global_gradient_norm", "gradient_norm", "gradient"]]]) -> None: ...
    cudnn_allow_tf32: bool
    """let convolutions on the GPU round to TF32 (without effect: it is a setting of GPUs)"""
    cuda_matmul_allow_tf32: bool
    """with --device cuda: let matrix products in f32 round their factors to TF32, which is faster"""
    @property
    def global_embedding_constraints(self) -> ParameterConstraints:
        """placement limits for every embedding table that has none of its own"""
        ...
    @global_embedding_constraints.setter
    def global_embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    mixed_precision: Literal["", "BF16", "FP16"]
    """type of the dense computation; empty: 32-bit floats (one of '', 'BF16', 'FP16')"""
    @property
    def grad_scaler(self) -> GradScaler:
        """dynamic loss scaling; on when the message is present"""
        ...
    @grad_scaler.setter
    def grad_scaler(self, value: Union[GradScaler, Mapping[str, Any]]) -> None: ...
    gradient_accumulation_steps: int
    """batches whose dense gradients are summed into one update; 0 or 1: off"""
    @property
    def grad_clipping(self) -> GradClipping:
        """limits on the gradients of the dense parameters"""
        ...
    @grad_clipping.setter
    def grad_clipping(self, value: Union[GradClipping, Mapping[str, Any]]) -> None: ...
    keep_checkpoint_max: int
    """how many of the newest checkpoints are kept; 0: all"""
    save_checkpoints_timestamp_interval: int
    """save whenever the data's event time passes a multiple of this many seconds; 0: off"""
    @property
    def save_checkpoints_timestamps(self) -> Repeated[int]:
        """save once when the data's event time passes each of these Unix times, in seconds"""
        ...
    @save_checkpoints_timestamps.setter
    def save_checkpoints_timestamps(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    save_checkpoints_timestamp_quorum: float
    """share of the processes, above 0 up to 1, that must have passed an event time before it counts"""
    @property
    def delta_embedding_dump_config(self) -> DeltaEmbeddingDumpConfig:
        """regular dumps of the embedding rows that changed; on when the message is present"""
        ...
    @delta_embedding_dump_config.setter
    def delta_embedding_dump_config(self, value: Union[DeltaEmbeddingDumpConfig, Mapping[str, Any]]) -> None: ...


class GradScaler(Message):
    """dynamic loss scaling for FP16; on when the message is present"""
    init_scale: float
    """first scale"""
    growth_factor: float
    """factor after growth_interval steps without overflow"""
    backoff_factor: float
    """factor after a step with an infinite or NaN gradient"""
    growth_interval: int
    """good steps in a row before the scale grows"""


class GradClipping(Message):
    """limits on the gradients of the dense parameters"""
    clipping_type: Literal["norm", "value", "none"]
    """norm: scale all gradients down to max_gradient; value: clamp each element; none: off (one of 'norm', 'value', 'none')"""
    max_gradient: float
    """largest norm, or largest absolute value of an element"""
    norm_type: float
    """the p of the p-norm; inf: largest element"""
    enable_global_grad_clip: bool
    """take the norm over all processes rather than each on its own (without effect: gradients are added up before they are clipped, so the norm is that of all processes)"""


class ParameterConstraints(Message):
    """which placements the planner may choose for a table"""
    @property
    def sharding_types(self) -> Repeated[Literal["data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise", "grid_shard"]]:
        """allowed ways to split the table; empty: any (one of 'data_parallel', 'table_wise', 'column_wise', 'row_wise', 'table_row_wise', 'table_column_wise', 'grid_shard')"""
        ...
    @sharding_types.setter
    def sharding_types(self, value: Union[Repeated[Literal["data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise", "grid_shard"]], Sequence[Literal["data_parallel", "table_wise", "column_wise", "row_wise", "table_row_wise", "table_column_wise", "grid_shard"]]]) -> None: ...
    @property
    def compute_kernels(self) -> Repeated[Literal["dense", "fused", "fused_uvm", "fused_uvm_caching", "key_value"]]:
        """allowed kinds of table memory; empty: any (one of 'dense', 'fused', 'fused_uvm', 'fused_uvm_caching', 'key_value'; without effect: a table lies where its run computes: in the memory of the processor, or of the card where --device cuda says so; sharding_types has its effect)"""
        ...
    @compute_kernels.setter
    def compute_kernels(self, value: Union[Repeated[Literal["dense", "fused", "fused_uvm", "fused_uvm_caching", "key_value"]], Sequence[Literal["dense", "fused", "fused_uvm", "fused_uvm_caching", "key_value"]]]) -> None: ...


class DeltaEmbeddingDumpConfig(Message):
    """regular dumps of the embedding rows that changed"""
    dump_interval_steps: int
    """dump every so many steps; not together with dump_interval_minutes"""
    output_dir: str
    """where the files go; unset: delta_embedding_dump in model_dir"""
    file_prefix: str
    """first part of each file's name"""
    @property
    def feature_store_config(self) -> FeatureStoreConfig:
        """upload of the dumps to a cloud feature store (without effect: uploading is not available here; the dumps are written to output_dir)"""
        ...
    @feature_store_config.setter
    def feature_store_config(self, value: Union[FeatureStoreConfig, Mapping[str, Any]]) -> None: ...
    dump_interval_minutes: int
    """dump every so many minutes; not together with dump_interval_steps"""
    quant_type: DeltaEmbeddingQuantType
    """how the dumped rows are stored"""


class FeatureStoreConfig(Message):
    """target of an upload to the cloud feature store"""
    region: str
    """cloud region; empty: taken from the environment (required)"""
    project_name: str
    """project that holds the view (required)"""
    feature_view_name: str
    """view that receives the rows; made when it does not exist (required)"""
    version: str
    """version label of this run's rows (required)"""
    endpoint: str
    """address of the service, when not the usual one of the region"""
    upload_batch_size: int
    """rows sent between two waits for completion"""
    max_retries: int
    """attempts per dump and process"""
    retry_backoff_secs: int
    """seconds between attempts"""
    shutdown_timeout_secs: int
    """longest wait for pending uploads at the end of training, in seconds"""
    max_pending_steps: int
    """dumps that may wait for upload before training is held back"""
    poll_interval_secs: int
    """seconds between looks for new dumps"""
    feature_view_ttl_secs: int
    """life time of rows of a newly made view, in seconds"""
    feature_view_shard_count: int
    """shards of a newly made view"""
    feature_view_replication_count: int
    """replicas of a newly made view"""
    retain_local_dump: bool
    """write the files as well as uploading"""
    upload_format: Literal["ARROW", "JSON"]
    """ARROW: columns in batches; JSON: one object per row (one of 'ARROW', 'JSON')"""


class SparseOptimizer(Message):
    """optimizer and learning-rate schedule of the embedding tables; one of each is needed"""
    @property
    def sgd_optimizer(self) -> FusedSGDOptimizer:
        """plain gradient descent"""
        ...
    @sgd_optimizer.setter
    def sgd_optimizer(self, value: Union[FusedSGDOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adagrad_optimizer(self) -> FusedAdagradOptimizer:
        """Adagrad with one accumulator per value"""
        ...
    @adagrad_optimizer.setter
    def adagrad_optimizer(self, value: Union[FusedAdagradOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adam_optimizer(self) -> FusedAdamOptimizer:
        """Adam on the rows a batch touches"""
        ...
    @adam_optimizer.setter
    def adam_optimizer(self, value: Union[FusedAdamOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def lars_sgd_optimizer(self) -> FusedLarsSGDOptimizer:
        """momentum with a step scaled by the row's norm"""
        ...
    @lars_sgd_optimizer.setter
    def lars_sgd_optimizer(self, value: Union[FusedLarsSGDOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def lamb_optimizer(self) -> FusedLAMBOptimizer:
        """Adam with a step scaled by the row's norm"""
        ...
    @lamb_optimizer.setter
    def lamb_optimizer(self, value: Union[FusedLAMBOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def partial_rowwise_lamb_optimizer(self) -> FusedPartialRowWiseLAMBOptimizer:
        """LAMB with one second moment per row"""
        ...
    @partial_rowwise_lamb_optimizer.setter
    def partial_rowwise_lamb_optimizer(self, value: Union[FusedPartialRowWiseLAMBOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def partial_rowwise_adam_optimizer(self) -> FusedPartialRowWiseAdamOptimizer:
        """Adam with one second moment per row: half the state"""
        ...
    @partial_rowwise_adam_optimizer.setter
    def partial_rowwise_adam_optimizer(self, value: Union[FusedPartialRowWiseAdamOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def rowwise_adagrad_optimizer(self) -> FusedRowWiseAdagradOptimizer:
        """Adagrad with one accumulator per row: little state"""
        ...
    @rowwise_adagrad_optimizer.setter
    def rowwise_adagrad_optimizer(self, value: Union[FusedRowWiseAdagradOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adadelta_optimizer(self) -> FusedAdadeltaOptimizer:
        """Adadelta on the rows a batch touches"""
        ...
    @adadelta_optimizer.setter
    def adadelta_optimizer(self, value: Union[FusedAdadeltaOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def rmsprop_optimizer(self) -> FusedRMSpropOptimizer:
        """RMSprop on the rows a batch touches"""
        ...
    @rmsprop_optimizer.setter
    def rmsprop_optimizer(self, value: Union[FusedRMSpropOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def constant_learning_rate(self) -> ConstantLR:
        """lr never changes"""
        ...
    @constant_learning_rate.setter
    def constant_learning_rate(self, value: Union[ConstantLR, Mapping[str, Any]]) -> None: ...
    @property
    def exponential_decay_learning_rate(self) -> ExponentialDecayLR:
        """lr shrinks by a factor in regular steps"""
        ...
    @exponential_decay_learning_rate.setter
    def exponential_decay_learning_rate(self, value: Union[ExponentialDecayLR, Mapping[str, Any]]) -> None: ...
    @property
    def manual_step_learning_rate(self) -> ManualStepLR:
        """lr takes listed values at listed times"""
        ...
    @manual_step_learning_rate.setter
    def manual_step_learning_rate(self, value: Union[ManualStepLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_learning_rate(self) -> CosineAnnealingLR:
        """lr falls along half a cosine, once"""
        ...
    @cosine_annealing_learning_rate.setter
    def cosine_annealing_learning_rate(self, value: Union[CosineAnnealingLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_warm_restarts_learning_rate(self) -> CosineAnnealingWarmRestartsLR:
        """lr falls along half a cosine again and again"""
        ...
    @cosine_annealing_warm_restarts_learning_rate.setter
    def cosine_annealing_warm_restarts_learning_rate(self, value: Union[CosineAnnealingWarmRestartsLR, Mapping[str, Any]]) -> None: ...


class EMAConfig(Message):
    """moving average of the dense parameters for evaluation and export; on when present"""
    decay: float
    """weight of the old average in each update"""


class DenseOptimizer(Message):
    """optimizer and learning-rate schedule of everything but the embedding tables"""
    @property
    def sgd_optimizer(self) -> SGDOptimizer:
        """stochastic gradient descent with momentum"""
        ...
    @sgd_optimizer.setter
    def sgd_optimizer(self, value: Union[SGDOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adagrad_optimizer(self) -> AdagradOptimizer:
        """Adagrad"""
        ...
    @adagrad_optimizer.setter
    def adagrad_optimizer(self, value: Union[AdagradOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adam_optimizer(self) -> AdamOptimizer:
        """Adam; weight decay is added to the gradient"""
        ...
    @adam_optimizer.setter
    def adam_optimizer(self, value: Union[AdamOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adamw_optimizer(self) -> AdamWOptimizer:
        """Adam with weight decay taken off the weights"""
        ...
    @adamw_optimizer.setter
    def adamw_optimizer(self, value: Union[AdamWOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adadelta_optimizer(self) -> AdadeltaOptimizer:
        """Adadelta"""
        ...
    @adadelta_optimizer.setter
    def adadelta_optimizer(self, value: Union[AdadeltaOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def rmsprop_optimizer(self) -> RMSpropOptimizer:
        """RMSprop, not centred, without momentum"""
        ...
    @rmsprop_optimizer.setter
    def rmsprop_optimizer(self, value: Union[RMSpropOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def constant_learning_rate(self) -> ConstantLR:
        """lr never changes"""
        ...
    @constant_learning_rate.setter
    def constant_learning_rate(self, value: Union[ConstantLR, Mapping[str, Any]]) -> None: ...
    @property
    def exponential_decay_learning_rate(self) -> ExponentialDecayLR:
        """lr shrinks by a factor in regular steps"""
        ...
    @exponential_decay_learning_rate.setter
    def exponential_decay_learning_rate(self, value: Union[ExponentialDecayLR, Mapping[str, Any]]) -> None: ...
    @property
    def manual_step_learning_rate(self) -> ManualStepLR:
        """lr takes listed values at listed times"""
        ...
    @manual_step_learning_rate.setter
    def manual_step_learning_rate(self, value: Union[ManualStepLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_learning_rate(self) -> CosineAnnealingLR:
        """lr falls along half a cosine, once"""
        ...
    @cosine_annealing_learning_rate.setter
    def cosine_annealing_learning_rate(self, value: Union[CosineAnnealingLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_warm_restarts_learning_rate(self) -> CosineAnnealingWarmRestartsLR:
        """lr falls along half a cosine again and again"""
        ...
    @cosine_annealing_warm_restarts_learning_rate.setter
    def cosine_annealing_warm_restarts_learning_rate(self, value: Union[CosineAnnealingWarmRestartsLR, Mapping[str, Any]]) -> None: ...
    @property
    def part_optimizers(self) -> Repeated[PartOptimizer]:
        """other optimizers for parameters whose names match; the first match counts"""
        ...
    @part_optimizers.setter
    def part_optimizers(self, value: Union[Repeated[PartOptimizer], Sequence[Union[PartOptimizer, Mapping[str, Any]]]]) -> None: ...
    @property
    def ema(self) -> EMAConfig:
        """keep a moving average of the parameters; on when the message is present"""
        ...
    @ema.setter
    def ema(self, value: Union[EMAConfig, Mapping[str, Any]]) -> None: ...


class PartOptimizer(Message):
    """an optimizer for the dense parameters whose whole name matches a pattern"""
    @property
    def sgd_optimizer(self) -> SGDOptimizer:
        """stochastic gradient descent with momentum"""
        ...
    @sgd_optimizer.setter
    def sgd_optimizer(self, value: Union[SGDOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adagrad_optimizer(self) -> AdagradOptimizer:
        """Adagrad"""
        ...
    @adagrad_optimizer.setter
    def adagrad_optimizer(self, value: Union[AdagradOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adam_optimizer(self) -> AdamOptimizer:
        """Adam; weight decay is added to the gradient"""
        ...
    @adam_optimizer.setter
    def adam_optimizer(self, value: Union[AdamOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adamw_optimizer(self) -> AdamWOptimizer:
        """Adam with weight decay taken off the weights"""
        ...
    @adamw_optimizer.setter
    def adamw_optimizer(self, value: Union[AdamWOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def adadelta_optimizer(self) -> AdadeltaOptimizer:
        """Adadelta"""
        ...
    @adadelta_optimizer.setter
    def adadelta_optimizer(self, value: Union[AdadeltaOptimizer, Mapping[str, Any]]) -> None: ...
    @property
    def rmsprop_optimizer(self) -> RMSpropOptimizer:
        """RMSprop, not centred, without momentum"""
        ...
    @rmsprop_optimizer.setter
    def rmsprop_optimizer(self, value: Union[RMSpropOptimizer, Mapping[str, Any]]) -> None: ...
    regex_pattern: str
    """regular expression that must match a parameter's whole name (required)"""
    @property
    def constant_learning_rate(self) -> ConstantLR:
        """lr never changes"""
        ...
    @constant_learning_rate.setter
    def constant_learning_rate(self, value: Union[ConstantLR, Mapping[str, Any]]) -> None: ...
    @property
    def exponential_decay_learning_rate(self) -> ExponentialDecayLR:
        """lr shrinks by a factor in regular steps"""
        ...
    @exponential_decay_learning_rate.setter
    def exponential_decay_learning_rate(self, value: Union[ExponentialDecayLR, Mapping[str, Any]]) -> None: ...
    @property
    def manual_step_learning_rate(self) -> ManualStepLR:
        """lr takes listed values at listed times"""
        ...
    @manual_step_learning_rate.setter
    def manual_step_learning_rate(self, value: Union[ManualStepLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_learning_rate(self) -> CosineAnnealingLR:
        """lr falls along half a cosine, once"""
        ...
    @cosine_annealing_learning_rate.setter
    def cosine_annealing_learning_rate(self, value: Union[CosineAnnealingLR, Mapping[str, Any]]) -> None: ...
    @property
    def cosine_annealing_warm_restarts_learning_rate(self) -> CosineAnnealingWarmRestartsLR:
        """lr falls along half a cosine again and again"""
        ...
    @cosine_annealing_warm_restarts_learning_rate.setter
    def cosine_annealing_warm_restarts_learning_rate(self, value: Union[CosineAnnealingWarmRestartsLR, Mapping[str, Any]]) -> None: ...


class FusedSGDOptimizer(Message):
    """plain gradient descent for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedAdagradOptimizer(Message):
    """Adagrad for embedding rows, one accumulator per value"""
    lr: float
    """learning rate before the schedule (required)"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""
    initial_accumulator_value: float
    """first value of the squared-gradient sum"""


class FusedAdamOptimizer(Message):
    """Adam for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedLarsSGDOptimizer(Message):
    """LARS for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    momentum: float
    """share of the previous step that is kept; 0: none"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedLAMBOptimizer(Message):
    """LAMB for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedPartialRowWiseLAMBOptimizer(Message):
    """LAMB for embedding rows with one second moment per row"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedPartialRowWiseAdamOptimizer(Message):
    """Adam for embedding rows with one second moment per row"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedRowWiseAdagradOptimizer(Message):
    """Adagrad for embedding rows, one accumulator per row"""
    lr: float
    """learning rate before the schedule (required)"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    weight_decay_mode: WeightDecayMode
    """how weight_decay is applied"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedAdadeltaOptimizer(Message):
    """Adadelta for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    rho: float
    """decay of the running averages"""
    eps: float
    """added to the denominator"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class FusedRMSpropOptimizer(Message):
    """RMSprop for embedding rows"""
    lr: float
    """learning rate before the schedule (required)"""
    alpha: float
    """decay of the squared-gradient average"""
    eps: float
    """added to the denominator"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    gradient_clipping: bool
    """clamp each gradient element at the embedding's output"""
    max_gradient: float
    """bound of the clamp; used with gradient_clipping"""


class SGDOptimizer(Message):
    """gradient descent; note that momentum is on by default"""
    lr: float
    """learning rate before the schedule (required)"""
    momentum: float
    """share of the previous step that is kept; 0: none"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    dampening: float
    """share of the new gradient that momentum leaves out"""
    nesterov: bool
    """look ahead along the momentum"""
    fused: bool
    """hint to use one fused kernel (without effect: each update is one pass over the parameters already)"""


class AdagradOptimizer(Message):
    """Adagrad"""
    lr: float
    """learning rate before the schedule (required)"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    initial_accumulator_value: float
    """first value of the squared-gradient sum"""
    eps: float
    """added to the denominator"""
    fused: bool
    """hint to use one fused kernel (without effect: each update is one pass over the parameters already)"""


class AdamOptimizer(Message):
    """Adam; weight_decay is added to the gradient"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    eps: float
    """added to the denominator"""
    amsgrad: bool
    """divide by the largest second moment so far"""
    fused: bool
    """hint to use one fused kernel (without effect: each update is one pass over the parameters already)"""


class AdamWOptimizer(Message):
    """Adam; weight_decay is taken off the weights"""
    lr: float
    """learning rate before the schedule (required)"""
    beta1: float
    """decay of the first moment"""
    beta2: float
    """decay of the second moment"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""
    eps: float
    """added to the denominator"""
    amsgrad: bool
    """divide by the largest second moment so far"""
    fused: bool
    """hint to use one fused kernel (without effect: each update is one pass over the parameters already)"""


class AdadeltaOptimizer(Message):
    """Adadelta"""
    lr: float
    """learning rate before the schedule (required)"""
    rho: float
    """decay of the running averages"""
    eps: float
    """added to the denominator"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""


class RMSpropOptimizer(Message):
    """RMSprop"""
    lr: float
    """learning rate before the schedule (required)"""
    alpha: float
    """decay of the squared-gradient average"""
    eps: float
    """added to the denominator"""
    weight_decay: float
    """strength of the pull towards zero; 0: none"""


class ConstantLR(Message):
    """the learning rate never changes"""


class ExponentialDecayLR(Message):
    """lr * decay_factor ^ (steps / decay_size)"""
    decay_size: int
    """steps (or epochs) per decay; must be above 0"""
    decay_factor: float
    """factor of one decay"""
    staircase: bool
    """decay in whole jumps instead of smoothly"""
    warmup_learning_rate: float
    """learning rate at the start of the warm-up"""
    warmup_size: int
    """length of the linear warm-up in steps (or epochs); 0: none"""
    min_learning_rate: float
    """the learning rate does not fall below this"""
    by_epoch: bool
    """count epochs instead of steps"""


class ManualStepLR(Message):
    """listed learning rates from listed steps on"""
    @property
    def schedule_sizes(self) -> Repeated[int]:
        """steps (or epochs) after which the rate of the same place holds, ascending"""
        ...
    @schedule_sizes.setter
    def schedule_sizes(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def learning_rates(self) -> Repeated[float]:
        """the rates, as many as schedule_sizes"""
        ...
    @learning_rates.setter
    def learning_rates(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    warmup: bool
    """move linearly from lr to the first rate"""
    by_epoch: bool
    """count epochs instead of steps"""


class CosineAnnealingLR(Message):
    """from lr down to min_learning_rate along half a cosine"""
    T_max: int
    """steps (or epochs) until the minimum; must be above 0"""
    min_learning_rate: float
    """the learning rate does not fall below this"""
    warmup_learning_rate: float
    """learning rate at the start of the warm-up"""
    warmup_size: int
    """length of the linear warm-up in steps (or epochs); 0: none"""
    by_epoch: bool
    """count epochs instead of steps"""


class CosineAnnealingWarmRestartsLR(Message):
    """half cosines from lr down to min_learning_rate, repeated"""
    T_0: int
    """steps (or epochs) of the first period; must be above 0"""
    T_mult: int
    """each period is this many times as long as the one before (at least 1)"""
    min_learning_rate: float
    """the learning rate does not fall below this"""
    warmup_learning_rate: float
    """learning rate at the start of the warm-up"""
    warmup_size: int
    """length of the linear warm-up in steps (or epochs); 0: none"""
    by_epoch: bool
    """count epochs instead of steps"""


class EvalConfig(Message):
    """how an evaluation runs"""
    num_steps: int
    """batches to evaluate; 0 or unset: all data"""
    log_step_count_steps: int
    """log progress every so many batches (without effect: an evaluation shows its progress by time)"""
    use_dense_ema: bool
    """evaluate the moving average of the parameters; unset: yes when dense_optimizer.ema is there"""


class ExportConfig(Message):
    """which checkpoint is exported, and in which precision"""
    exporter_type: Literal["latest", "best"]
    """latest: newest checkpoint; best: the one with the best best_exporter_metric (one of 'latest', 'best')"""
    best_exporter_metric: str
    """metric that decides for exporter_type best; with several tasks <metric>_<tower_name>"""
    metric_larger_is_better: bool
    """false: the smallest value of the metric is the best"""
    mixed_precision: Literal["", "BF16", "FP16"]
    """type of the dense computation in the export; empty: 32-bit floats (one of '', 'BF16', 'FP16')"""
    cudnn_allow_tf32: bool
    """let convolutions on the GPU round to TF32 (without effect: it is a setting of GPUs)"""
    cuda_matmul_allow_tf32: bool
    """with --device cuda: let matrix products in f32 round their factors to TF32, which is faster"""
    use_dense_ema: bool
    """export the moving average of the parameters; unset: yes when dense_optimizer.ema is there"""


class Field(Message):
    """an input column"""
    input_name: str
    """name of the column (required)"""
    input_type: FieldType
    """its type; unset: found out from the data"""


class LabelText(Message):
    """a label that the data has as one of two texts"""
    label_name: str
    """the label, one of label_fields (required)"""
    one: str
    """the text that stands for 1 (required)"""
    zero: str
    """the text that stands for 0 (required)"""


class DataConfig(Message):
    """how rows are read, labelled and sampled"""
    batch_size: int
    """rows per batch and process (1..2147483647)"""
    dataset_type: DatasetType
    """where rows come from"""
    fg_encoded: bool
    """true: fg_mode FG_NONE; false: FG_DAG, or FG_NORMAL when fg_threads is 0 (deprecated: use fg_mode; when set, this overrides it)"""
    fg_encoded_multival_sep: str
    """separator of several values in one column under FG_NONE; empty: byte 0x03"""
    @property
    def label_fields(self) -> Repeated[str]:
        """label columns; models with one task use the first"""
        ...
    @label_fields.setter
    def label_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    @property
    def label_texts(self) -> Repeated[LabelText]:
        """labels that are one of two texts, and which of these is 1; columns of numbers stay as they are. init sets it when it has made numbers of them in the training data, TorchEasyRec does not know it"""
        ...
    @label_texts.setter
    def label_texts(self, value: Union[Repeated[LabelText], Sequence[Union[LabelText, Mapping[str, Any]]]]) -> None: ...
    num_workers: int
    """ranges that the rows are cut into; batches are taken from them in turn. 0, 1 and unset: the order of the files (TorchEasyRec takes unset for 8) (0..65536)"""
    pin_memory: bool
    """use page-locked host memory for copies to the GPU (without effect: memory is pinned for copies to a GPU only)"""
    @property
    def input_fields(self) -> Repeated[Field]:
        """the columns of CSV or Kafka data, in file order"""
        ...
    @input_fields.setter
    def input_fields(self, value: Union[Repeated[Field], Sequence[Union[Field, Mapping[str, Any]]]]) -> None: ...
    delimiter: str
    """CSV: separator of columns, one character"""
    with_header: bool
    """CSV: the first line holds the column names"""
    line_format: Literal["slots", "din", "esmm", "items", "mmoe", "ncf", "session", "tagspace", "tdm", "texts", "youtube"]
    """SlotDataset: the form of a line (one of 'slots', 'din', 'esmm', 'items', 'mmoe', 'ncf', 'session', 'tagspace', 'tdm', 'texts', 'youtube')"""
    line_columns: str
    """SlotDataset: the columns, such as "label=id(click) s1=ids(1) x=floats(dense,13)"; unset: a list per slot"""
    tidy_text: bool
    """texts lose the blanks and the quotes around them, and where numbers are wanted dates are seconds since 1970; init sets it when it has done so to the training data, TorchEasyRec does not know it"""
    line_padding: int
    """SlotDataset: value of slots that a line lacks"""
    eval_batch_size: int
    """rows per batch outside training; unset: batch_size (1..2147483647)"""
    drop_remainder: bool
    """drop the last batch when it is not full"""
    fg_threads: int
    """feature-generation threads per data worker"""
    is_orderby_partition: bool
    """MaxCompute: read the partitions in order (without effect: partitions are always read in the order of their names)"""
    odps_data_quota_name: str
    """MaxCompute: quota for the storage API"""
    sample_mask_prob: float
    """probability that a row's features with use_mask are blanked in training (0..1)"""
    negative_sample_mask_prob: float
    """the same for rows that come from a negative sampler (0..1)"""
    force_base_data_group: bool
    """pad all features to the row count that sampling produces, so that groups may mix them"""
    @property
    def sample_weight_fields(self) -> Repeated[str]:
        """columns with row weights, float or double; models with one task use the first"""
        ...
    @sample_weight_fields.setter
    def sample_weight_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    fg_mode: FgMode
    """how much of the feature generation happens here"""
    shuffle: bool
    """mix the order of batches in training"""
    shuffle_buffer_size: int
    """size of the shuffle buffer in batches, not rows (0..2147483647)"""
    odps_data_compression: Literal["LZ4_FRAME", "ZSTD", "UNCOMPRESSED"]
    """MaxCompute: compression on the wire (one of 'LZ4_FRAME', 'ZSTD', 'UNCOMPRESSED')"""
    sample_cost_field: str
    """column with each row's cost; with batch_cost_size batches are cut by cost instead of rows"""
    batch_cost_size: int
    """largest total cost of a batch; used with sample_cost_field (at least 0)"""
    input_fields_str: str
    """short form of input_fields, "name:TYPE;name:TYPE"; wins when not empty"""
    in_order: bool
    """hand out batches in the order in which they were read (without effect: batches always come in the order of the workers)"""
    @property
    def negative_sampler(self) -> NegativeSampler:
        """random items that are not in the batch"""
        ...
    @negative_sampler.setter
    def negative_sampler(self, value: Union[NegativeSampler, Mapping[str, Any]]) -> None: ...
    @property
    def negative_sampler_v2(self) -> NegativeSamplerV2:
        """random items without a positive edge to the user"""
        ...
    @negative_sampler_v2.setter
    def negative_sampler_v2(self, value: Union[NegativeSamplerV2, Mapping[str, Any]]) -> None: ...
    @property
    def hard_negative_sampler(self) -> HardNegativeSampler:
        """random items plus each user's hard negatives"""
        ...
    @hard_negative_sampler.setter
    def hard_negative_sampler(self, value: Union[HardNegativeSampler, Mapping[str, Any]]) -> None: ...
    @property
    def hard_negative_sampler_v2(self) -> HardNegativeSamplerV2:
        """items without a positive edge plus each user's hard negatives"""
        ...
    @hard_negative_sampler_v2.setter
    def hard_negative_sampler_v2(self, value: Union[HardNegativeSamplerV2, Mapping[str, Any]]) -> None: ...
    @property
    def tdm_sampler(self) -> TDMSampler:
        """nodes of an item tree, level by level"""
        ...
    @tdm_sampler.setter
    def tdm_sampler(self, value: Union[TDMSampler, Mapping[str, Any]]) -> None: ...


class NegativeSampler(Message):
    """draws items by weight that are not in the batch; the whole batch shares them"""
    input_path: str
    """item table: id, weight, attrs (required)"""
    num_sample: int
    """negatives per batch (required)"""
    @property
    def attr_fields(self) -> Repeated[str]:
        """training columns that the pieces of attrs stand for, in their order"""
        ...
    @attr_fields.setter
    def attr_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    item_id_field: str
    """column of the training data with the item's id (required)"""
    attr_delimiter: str
    """separator of the pieces in attrs"""
    num_eval_sample: int
    """negatives per batch in evaluation; unset: as in training"""
    field_delimiter: str
    """separator of columns in the table files; unset: tab"""
    item_id_delim: str
    """separator of several item ids (without effect: several ids in one row are split by sequence_delim of their sequence feature)"""


class NegativeSamplerV2(Message):
    """draws items that have no positive edge to the row's user"""
    user_input_path: str
    """user table: id, weight; users of edges that it lacks are counted (required)"""
    item_input_path: str
    """item table: id, weight, attrs (required)"""
    pos_edge_input_path: str
    """positive edges: user id, item id, weight (required)"""
    num_sample: int
    """negatives per batch (required)"""
    @property
    def attr_fields(self) -> Repeated[str]:
        """training columns that the pieces of attrs stand for, in their order"""
        ...
    @attr_fields.setter
    def attr_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    item_id_field: str
    """column of the training data with the item's id (required)"""
    attr_delimiter: str
    """separator of the pieces in attrs"""
    num_eval_sample: int
    """negatives per batch in evaluation; unset: as in training"""
    field_delimiter: str
    """separator of columns in the table files; unset: tab"""
    user_id_field: str
    """column of the training data with the user's id (required)"""


class HardNegativeSampler(Message):
    """random negatives for the batch plus hard negatives per user"""
    user_input_path: str
    """user table: id, weight; users of edges that it lacks are counted (required)"""
    item_input_path: str
    """item table: id, weight, attrs (required)"""
    hard_neg_edge_input_path: str
    """hard negatives: user id, item id, weight (required)"""
    num_sample: int
    """random negatives per batch (required)"""
    num_hard_sample: int
    """hard negatives per user at most (required)"""
    @property
    def attr_fields(self) -> Repeated[str]:
        """training columns that the pieces of attrs stand for, in their order"""
        ...
    @attr_fields.setter
    def attr_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    item_id_field: str
    """column of the training data with the item's id (required)"""
    attr_delimiter: str
    """separator of the pieces in attrs"""
    num_eval_sample: int
    """negatives per batch in evaluation; unset: as in training"""
    field_delimiter: str
    """separator of columns in the table files; unset: tab"""
    user_id_field: str
    """column of the training data with the user's id (required)"""


class HardNegativeSamplerV2(Message):
    """negatives without a positive edge plus hard negatives per user"""
    user_input_path: str
    """user table: id, weight; users of edges that it lacks are counted (required)"""
    item_input_path: str
    """item table: id, weight, attrs (required)"""
    pos_edge_input_path: str
    """positive edges: user id, item id, weight (required)"""
    hard_neg_edge_input_path: str
    """hard negatives: user id, item id, weight (required)"""
    num_sample: int
    """random negatives per batch (required)"""
    num_hard_sample: int
    """hard negatives per user at most (required)"""
    @property
    def attr_fields(self) -> Repeated[str]:
        """training columns that the pieces of attrs stand for, in their order"""
        ...
    @attr_fields.setter
    def attr_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    item_id_field: str
    """column of the training data with the item's id (required)"""
    attr_delimiter: str
    """separator of the pieces in attrs"""
    num_eval_sample: int
    """negatives per batch in evaluation; unset: as in training"""
    field_delimiter: str
    """separator of columns in the table files; unset: tab"""
    user_id_field: str
    """column of the training data with the user's id (required)"""


class TDMSampler(Message):
    """positives and negatives on every level of an item tree"""
    item_input_path: str
    """node table: id, weight, attrs (required)"""
    edge_input_path: str
    """training edges: leaf id, ancestor id, weight (required)"""
    predict_edge_input_path: str
    """retrieval edges: node id, child id, weight (required)"""
    @property
    def attr_fields(self) -> Repeated[str]:
        """training columns that the pieces of attrs stand for, in their order"""
        ...
    @attr_fields.setter
    def attr_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    item_id_field: str
    """column of the training data with the item's id (required)"""
    attr_delimiter: str
    """separator of the pieces in attrs"""
    num_eval_sample: int
    """negatives per batch in evaluation; unset: as in training"""
    field_delimiter: str
    """separator of columns in the table files; unset: tab"""
    @property
    def layer_num_sample(self) -> Repeated[int]:
        """negatives per tree level from the root down; the root's must be 0"""
        ...
    @layer_num_sample.setter
    def layer_num_sample(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    remain_ratio: float
    """share of the middle levels that a row trains (0..1)"""
    probability_type: Literal["UNIFORM", "ARITHMETIC", "RECIPROCAL"]
    """how middle levels are picked: alike, by depth, or by nearness to the leaves (one of 'UNIFORM', 'ARITHMETIC', 'RECIPROCAL')"""


class LFU_EvictionPolicy(Message):
    """evict the ids seen least often"""


class LRU_EvictionPolicy(Message):
    """evict the ids not seen for longest"""
    decay_exponent: float
    """power of the age in the score"""


class DistanceLFU_EvictionPolicy(Message):
    """evict by count divided by a power of the age"""
    decay_exponent: float
    """power of the age in the score"""


class ZeroCollisionHash(Message):
    """a table that gives each id its own row while it lasts and evicts the least valuable"""
    zch_size: int
    """rows of the table; the last one is shared by ids without a row of their own (required)"""
    eviction_interval: int
    """batches between two rounds of admission and eviction"""
    @property
    def lfu(self) -> LFU_EvictionPolicy:
        """evict the ids seen least often"""
        ...
    @lfu.setter
    def lfu(self, value: Union[LFU_EvictionPolicy, Mapping[str, Any]]) -> None: ...
    @property
    def lru(self) -> LRU_EvictionPolicy:
        """evict the ids not seen for longest"""
        ...
    @lru.setter
    def lru(self, value: Union[LRU_EvictionPolicy, Mapping[str, Any]]) -> None: ...
    @property
    def distance_lfu(self) -> DistanceLFU_EvictionPolicy:
        """evict by count and age together"""
        ...
    @distance_lfu.setter
    def distance_lfu(self, value: Union[DistanceLFU_EvictionPolicy, Mapping[str, Any]]) -> None: ...
    threshold_filtering_func: str
    """which new ids are admitted by their count, such as "lambda x: (x > 3, 3)"; unset: all"""


class AutoDisEmbedding(Message):
    """soft buckets for a number: a weighted mean of learned vectors"""
    num_channels: int
    """learned vectors per feature; must be above 0 (required)"""
    temperature: float
    """softness of the choice among the vectors; smaller is harder"""
    keep_prob: float
    """factor of the skip connection (not a dropout)"""


class MLPEmbedding(Message):
    """a number times a learned vector"""


class DynamicEmbInitializerArgs(Message):
    """how new rows of a dynamic table are filled"""
    mode: Literal["NORMAL", "TRUNCATED_NORMAL", "UNIFORM", "CONSTANT"]
    """kind of initial value; unset: UNIFORM for training, CONSTANT elsewhere (one of 'NORMAL', 'TRUNCATED_NORMAL', 'UNIFORM', 'CONSTANT')"""
    mean: float
    """mean of NORMAL and TRUNCATED_NORMAL"""
    std_dev: float
    """deviation of NORMAL and TRUNCATED_NORMAL; unset: 1/sqrt(embedding_dim)"""
    lower: float
    """lower bound of UNIFORM and TRUNCATED_NORMAL; unset: -1/sqrt(max_capacity)"""
    upper: float
    """upper bound of UNIFORM and TRUNCATED_NORMAL; unset: 1/sqrt(max_capacity)"""
    value: float
    """the value of CONSTANT"""


class DynamicEmbFrequencyAdmissionStrategy(Message):
    """ids get a row only after they were seen often enough"""
    threshold: int
    """occurrences before an id gets a row (required)"""
    @property
    def initializer_args(self) -> DynamicEmbInitializerArgs:
        """vector of ids that have no row yet; unset: zeros"""
        ...
    @initializer_args.setter
    def initializer_args(self, value: Union[DynamicEmbInitializerArgs, Mapping[str, Any]]) -> None: ...
    counter_capacity: int
    """ids that are counted at once; unset: max_capacity"""
    counter_bucket_capacity: int
    """entries per bucket of the counter"""


class DynamicEmbedding(Message):
    """a table without fixed ids that grows up to a capacity"""
    @property
    def initializer_args(self) -> DynamicEmbInitializerArgs:
        """initial values of new rows"""
        ...
    @initializer_args.setter
    def initializer_args(self, value: Union[DynamicEmbInitializerArgs, Mapping[str, Any]]) -> None: ...
    @property
    def eval_initializer_args(self) -> DynamicEmbInitializerArgs:
        """vector of unknown ids outside training; unset: zeros"""
        ...
    @eval_initializer_args.setter
    def eval_initializer_args(self, value: Union[DynamicEmbInitializerArgs, Mapping[str, Any]]) -> None: ...
    score_strategy: Literal["TIMESTAMP", "STEP", "CUSTOMIZED", "LFU", "NO_EVICTION"]
    """what decides which row is evicted (one of 'TIMESTAMP', 'STEP', 'CUSTOMIZED', 'LFU', 'NO_EVICTION')"""
    max_capacity: int
    """rows at most, over all processes (required)"""
    cache_load_factor: float
    """share of the rows kept in GPU memory (without effect: rows are not cached on a GPU)"""
    init_capacity_per_rank: int
    """rows to make room for at the start, per process (without effect: tables grow as ids come)"""
    init_table: str
    """data with ids and vectors to start from (without effect: a run does not read it: `trainyard tables init` makes a checkpoint of it for --fine-tune)"""
    bucket_capacity: int
    """entries per hash bucket; unset: 128"""
    @property
    def frequency_admission_strategy(self) -> DynamicEmbFrequencyAdmissionStrategy:
        """admit ids by how often they were seen; unset: at first sight"""
        ...
    @frequency_admission_strategy.setter
    def frequency_admission_strategy(self, value: Union[DynamicEmbFrequencyAdmissionStrategy, Mapping[str, Any]]) -> None: ...


class IdFeature(Message):
    """one or more ids of a text or integer column"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    expression: str
    """input column, side:name with side user, item, context, feature or const (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table (required)"""
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    value_dim: int
    """values kept per row, or per step of a sequence; 0: all; unset: all, 1 per step"""
    default_value: str
    """value of a missing input, before it becomes an id; empty: no value"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    weighted: bool
    """values are written id:weight"""
    fg_value_type: str
    """type of the value before it becomes an id, such as int64; unset: by the way ids are made"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class RawFeature(Message):
    """one number or a vector of numbers"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    expression: str
    """input column, side:name with side user, item, context, feature or const (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    value_dim: int
    """numbers per row"""
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    default_value: str
    """value of a missing input; it is not normalised"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class ComboFeature(Message):
    """ids for all combinations of several inputs"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    @property
    def expression(self) -> Repeated[str]:
        """two or more input columns, side:name with side user, item, context, feature or const"""
        ...
    @expression.setter
    def expression(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    value_dim: int
    """combinations kept per row; 0: all"""
    default_value: str
    """value of a missing input, before it becomes an id; empty: no value"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class CombineFeature(Message):
    """several numbers of one column combined into one"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    expression: str
    """input column, side:name with side user, item, context, feature or const (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    value_map: Dict[str, float]
    """numbers that texts stand for; empty: the texts are numbers"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    default_value: str
    """value of a missing input, before it becomes an id; empty: no value"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    combiner: Literal["sum", "mean", "avg", "min", "max", "count", "gap_min", "gap_max"]
    """how several numbers become one: sum, mean, min, max, count, gap_min or gap_max (one of 'sum', 'mean', 'avg', 'min', 'max', 'count', 'gap_min', 'gap_max')"""
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class LookupFeature(Message):
    """values that a map column holds for the keys of another column"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    map: str
    """column with key:value pairs, side:name (required)"""
    key: str
    """column with the keys to look up, side:name (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    combiner: Literal["", "sum", "mean", "avg", "min", "max", "count", "gap_min", "gap_max"]
    """how several numbers become one: sum, mean, min, max, count, gap_min or gap_max; empty: keep all (one of '', 'sum', 'mean', 'avg', 'min', 'max', 'count', 'gap_min', 'gap_max')"""
    default_value: str
    """value of a missing input; it is not normalised"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    need_discrete: bool
    """treat found values as texts"""
    need_key: bool
    """put the key before the value: <key>_<value>"""
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    value_dim: int
    """numbers in one value; 0: all values; unset: 1"""
    value_separator: str
    """separator of the numbers in one value when value_dim is above 1"""
    fg_value_type: str
    """type of the value before it becomes an id, such as int64; unset: by the way ids are made"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class MatchFeature(Message):
    """value that a two-level map column holds for a first and a second key"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    nested_map: str
    """column with the two-level map, side:name (required)"""
    pkey: str
    """column with the first key, side:name, or ALL (required)"""
    skey: str
    """column with the second key, side:name, or ALL (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    default_value: str
    """value of a missing input; it is not normalised"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    need_discrete: bool
    """treat found values as texts"""
    show_pkey: bool
    """put the first key into the text"""
    show_skey: bool
    """put the second key into the text"""
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    value_dim: int
    """numbers in one value; 0: all values; unset: 1"""
    fg_value_type: str
    """type of the value before it becomes an id, such as int64; unset: by the way ids are made"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class ExprFeature(Message):
    """a formula over other inputs"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    expression: str
    """the formula, over the names of the variables (required)"""
    @property
    def variables(self) -> Repeated[str]:
        """input columns that the formula uses, side:name"""
        ...
    @variables.setter
    def variables(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    separator: str
    """separator of several values in one text, one ASCII character"""
    fill_missing: float
    """number that lengthens the shorter of two vectors; unset: NaN"""
    default_value: str
    """value of a missing input; it is not normalised"""
    value_dim: int
    """numbers of the result; unset: 1"""
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class OverlapFeature(Message):
    """how much the terms of two inputs have in common"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    query: str
    """column with the first terms, side:name (required)"""
    title: str
    """column with the second terms, side:name (required)"""
    method: Literal["query_common_ratio", "title_common_ratio", "is_contain", "is_equal", "index_of", "proximity_min_cover", "proximity_min_dist", "proximity_max_dist", "proximity_avg_dist"]
    """measure of the overlap (required; one of 'query_common_ratio', 'title_common_ratio', 'is_contain', 'is_equal', 'index_of', 'proximity_min_cover', 'proximity_min_dist', 'proximity_max_dist', 'proximity_avg_dist')"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class TextNormalizer(Message):
    """changes to a text before it is cut into tokens"""
    max_length: int
    """longer texts are left as they are; unset: no limit"""
    stop_char_file: str
    """file with the characters that TEXT_FILTER leaves out"""
    @property
    def norm_options(self) -> Repeated[TextNormalizeOption]:
        """the changes; empty: upper case, half-width, simplified, filtered"""
        ...
    @norm_options.setter
    def norm_options(self, value: Union[Repeated[TextNormalizeOption], Sequence[TextNormalizeOption]]) -> None: ...


class TokenizeFeature(Message):
    """token ids of a text"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    expression: str
    """input column, side:name with side user, item, context, feature or const (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table (required)"""
    @property
    def text_normalizer(self) -> TextNormalizer:
        """changes to the text before it is cut"""
        ...
    @text_normalizer.setter
    def text_normalizer(self, value: Union[TextNormalizer, Mapping[str, Any]]) -> None: ...
    vocab_file: str
    """tokenizer.json of a BPE tokenizer, or a sentencepiece model (required)"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_value: str
    """value of a missing input, before it becomes an id; empty: no value"""
    tokenizer_type: Literal["bpe", "sentencepiece"]
    """kind of vocab_file (one of 'bpe', 'sentencepiece')"""
    tokens_as_sequence: bool
    """each token is a step of a sequence"""
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class KvDotProduct(Message):
    """dot product of two sets of key:weight items"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    query: str
    """column with the first set, side:name (required)"""
    document: str
    """column with the second set, side:name (required)"""
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    separator: str
    """separator of several values in one text, one ASCII character"""
    kv_delimiter: float
    """meant to be the separator of key and weight (without effect: it is declared as a number and cannot hold a character; key and weight are always separated by ':')"""
    normalizer: str
    """formula for the result (without effect: the dot product is never normalised)"""
    default_value: str
    """value of a missing input; it is not normalised"""
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class CustomFeature(Message):
    """result of an operator named in the config"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    operator_name: str
    """name of the operator; EditDistance, RegexReplace and SeqExpr are built in (required)"""
    operator_lib_file: str
    """library that holds the operator (required)"""
    operator_params: Any
    """parameters of the operator"""
    is_op_thread_safe: bool
    """several threads may call the operator at once"""
    @property
    def expression(self) -> Repeated[str]:
        """input columns, side:name with side user, item, context, feature or const"""
        ...
    @expression.setter
    def expression(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table"""
    @property
    def boundaries(self) -> Repeated[float]:
        """ascending limits that cut numbers into buckets; empty: the number itself is used"""
        ...
    @boundaries.setter
    def boundaries(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    default_value: str
    """value of a missing input; it is not normalised"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    normalizer: str
    """formula applied to numbers, such as "method=zscore,mean=0.0,standard_deviation=10.0"""
    value_dim: int
    """numbers of the result; 0: all values; unset: 1"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def autodis(self) -> AutoDisEmbedding:
        """turn the number into a vector through soft buckets"""
        ...
    @autodis.setter
    def autodis(self, value: Union[AutoDisEmbedding, Mapping[str, Any]]) -> None: ...
    @property
    def mlp(self) -> MLPEmbedding:
        """turn the number into a vector by a learned factor"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLPEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class BoolMaskFeature(Message):
    """ids of a column where a second column says true"""
    feature_name: str
    """name of the feature, used by feature groups (required)"""
    @property
    def expression(self) -> Repeated[str]:
        """two input columns: values, then true or false for each of them; side:name with side user, item, context, feature or const"""
        ...
    @expression.setter
    def expression(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    embedding_dim: int
    """width of the vector; must be above 0 when the feature has a table (required)"""
    num_buckets: int
    """the value is the id, from 0 up to but not including this"""
    value_dim: int
    """values kept per row; 0: all; unset: all, 1 per step of a sequence"""
    default_value: str
    """value of a missing input, before it becomes an id; empty: no value"""
    separator: str
    """separator of several values in one text, one ASCII character"""
    fg_value_type: str
    """type of the value before it becomes an id, such as int64; unset: by the way ids are made"""
    hash_bucket_size: int
    """id is a hash of the text modulo this"""
    @property
    def vocab_list(self) -> Repeated[str]:
        """id is the place in this list, after two reserved places unless default_bucketize_value is set"""
        ...
    @vocab_list.setter
    def vocab_list(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    vocab_dict: Dict[str, int]
    """ids of the known texts"""
    vocab_file: str
    """file with one known text per line, or text and id; needs default_bucketize_value"""
    asset_dir: str
    """directory that vocab_file is relative to"""
    default_bucketize_value: int
    """id of texts that are not in the vocabulary; unset: 1, and 0 stands for default_value"""
    @property
    def zch(self) -> ZeroCollisionHash:
        """each id gets its own row, with eviction"""
        ...
    @zch.setter
    def zch(self, value: Union[ZeroCollisionHash, Mapping[str, Any]]) -> None: ...
    @property
    def dynamicemb(self) -> DynamicEmbedding:
        """a table that grows with the ids it sees"""
        ...
    @dynamicemb.setter
    def dynamicemb(self, value: Union[DynamicEmbedding, Mapping[str, Any]]) -> None: ...
    embedding_name: str
    """name of the table; features of the same name share it; unset: <feature name>_emb"""
    pooling: Literal["sum", "mean"]
    """how the vectors of several values become one (one of 'sum', 'mean')"""
    init_fn: str
    """initial values of the table, such as "nn.init.uniform_,a=-0.01,b=0.01"; unset: uniform within 1/sqrt(rows)"""
    use_mask: bool
    """blank this feature in masked rows (data_config.sample_mask_prob)"""
    fg_encoded_default_value: str
    """value for missing data under FG_NONE; unset: no value"""
    trainable: bool
    """false: the table keeps its initial values"""
    stub_type: bool
    """only an intermediate result that other features read; needs FG_DAG"""
    data_type: Literal["FP32", "FP16", "BF16"]
    """type in which the table is stored; BF16 is an extension of Trainyard (one of 'FP32', 'FP16', 'BF16')"""
    @property
    def embedding_constraints(self) -> ParameterConstraints:
        """placement limits of this table"""
        ...
    @embedding_constraints.setter
    def embedding_constraints(self, value: Union[ParameterConstraints, Mapping[str, Any]]) -> None: ...
    sequence_length: int
    """steps kept of a sequence; used when the feature is a sequence of its own"""
    sequence_delim: str
    """separator of steps; used when the feature is a sequence of its own"""
    @property
    def sequence_fields(self) -> Repeated[str]:
        """which inputs are sequences, by name without side; empty: the usual rule of the feature type"""
        ...
    @sequence_fields.setter
    def sequence_fields(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...


class SequenceFeature(Message):
    """several features that share the steps of one sequence"""
    sequence_name: str
    """name of the sequence; its features are called <sequence_name>__<feature_name> (required)"""
    sequence_length: int
    """steps kept (required)"""
    sequence_delim: str
    """separator of steps in a text (required)"""
    sequence_pk: str
    """key of the sequence for online serving; unset: user:<sequence_name>"""
    @property
    def features(self) -> Repeated[SeqFeatureConfig]:
        """the features of each step"""
        ...
    @features.setter
    def features(self, value: Union[Repeated[SeqFeatureConfig], Sequence[Union[SeqFeatureConfig, Mapping[str, Any]]]]) -> None: ...


class FeatureConfig(Message):
    """one feature of any kind"""
    @property
    def id_feature(self) -> IdFeature:
        """ids of a column"""
        ...
    @id_feature.setter
    def id_feature(self, value: Union[IdFeature, Mapping[str, Any]]) -> None: ...
    @property
    def raw_feature(self) -> RawFeature:
        """numbers of a column"""
        ...
    @raw_feature.setter
    def raw_feature(self, value: Union[RawFeature, Mapping[str, Any]]) -> None: ...
    @property
    def combo_feature(self) -> ComboFeature:
        """ids for combinations of columns"""
        ...
    @combo_feature.setter
    def combo_feature(self, value: Union[ComboFeature, Mapping[str, Any]]) -> None: ...
    @property
    def lookup_feature(self) -> LookupFeature:
        """values of a map column by key"""
        ...
    @lookup_feature.setter
    def lookup_feature(self, value: Union[LookupFeature, Mapping[str, Any]]) -> None: ...
    @property
    def match_feature(self) -> MatchFeature:
        """value of a two-level map column"""
        ...
    @match_feature.setter
    def match_feature(self, value: Union[MatchFeature, Mapping[str, Any]]) -> None: ...
    @property
    def expr_feature(self) -> ExprFeature:
        """a formula"""
        ...
    @expr_feature.setter
    def expr_feature(self, value: Union[ExprFeature, Mapping[str, Any]]) -> None: ...
    @property
    def overlap_feature(self) -> OverlapFeature:
        """common terms of two columns"""
        ...
    @overlap_feature.setter
    def overlap_feature(self, value: Union[OverlapFeature, Mapping[str, Any]]) -> None: ...
    @property
    def tokenize_feature(self) -> TokenizeFeature:
        """token ids of a text"""
        ...
    @tokenize_feature.setter
    def tokenize_feature(self, value: Union[TokenizeFeature, Mapping[str, Any]]) -> None: ...
    @property
    def custom_feature(self) -> CustomFeature:
        """result of an operator"""
        ...
    @custom_feature.setter
    def custom_feature(self, value: Union[CustomFeature, Mapping[str, Any]]) -> None: ...
    @property
    def kv_dot_product(self) -> KvDotProduct:
        """dot product of two key:weight columns"""
        ...
    @kv_dot_product.setter
    def kv_dot_product(self, value: Union[KvDotProduct, Mapping[str, Any]]) -> None: ...
    @property
    def bool_mask_feature(self) -> BoolMaskFeature:
        """ids where a mask is true"""
        ...
    @bool_mask_feature.setter
    def bool_mask_feature(self, value: Union[BoolMaskFeature, Mapping[str, Any]]) -> None: ...
    @property
    def combine_feature(self) -> CombineFeature:
        """several numbers combined into one"""
        ...
    @combine_feature.setter
    def combine_feature(self, value: Union[CombineFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_feature(self) -> SequenceFeature:
        """several features that share one sequence"""
        ...
    @sequence_feature.setter
    def sequence_feature(self, value: Union[SequenceFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_id_feature(self) -> IdFeature:
        """ids of a column, one per step of a sequence"""
        ...
    @sequence_id_feature.setter
    def sequence_id_feature(self, value: Union[IdFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_raw_feature(self) -> RawFeature:
        """numbers of a column, one per step of a sequence"""
        ...
    @sequence_raw_feature.setter
    def sequence_raw_feature(self, value: Union[RawFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_combo_feature(self) -> ComboFeature:
        """ids for combinations of columns, one per step of a sequence"""
        ...
    @sequence_combo_feature.setter
    def sequence_combo_feature(self, value: Union[ComboFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_lookup_feature(self) -> LookupFeature:
        """values of a map column by key, one per step of a sequence"""
        ...
    @sequence_lookup_feature.setter
    def sequence_lookup_feature(self, value: Union[LookupFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_match_feature(self) -> MatchFeature:
        """value of a two-level map column, one per step of a sequence"""
        ...
    @sequence_match_feature.setter
    def sequence_match_feature(self, value: Union[MatchFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_expr_feature(self) -> ExprFeature:
        """a formula, one per step of a sequence"""
        ...
    @sequence_expr_feature.setter
    def sequence_expr_feature(self, value: Union[ExprFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_overlap_feature(self) -> OverlapFeature:
        """common terms of two columns, one per step of a sequence"""
        ...
    @sequence_overlap_feature.setter
    def sequence_overlap_feature(self, value: Union[OverlapFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_tokenize_feature(self) -> TokenizeFeature:
        """token ids of a text, one per step of a sequence"""
        ...
    @sequence_tokenize_feature.setter
    def sequence_tokenize_feature(self, value: Union[TokenizeFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_custom_feature(self) -> CustomFeature:
        """result of an operator, one per step of a sequence"""
        ...
    @sequence_custom_feature.setter
    def sequence_custom_feature(self, value: Union[CustomFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_kv_dot_product(self) -> KvDotProduct:
        """dot product of two key:weight columns, one per step of a sequence"""
        ...
    @sequence_kv_dot_product.setter
    def sequence_kv_dot_product(self, value: Union[KvDotProduct, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_bool_mask_feature(self) -> BoolMaskFeature:
        """ids where a mask is true, one per step of a sequence"""
        ...
    @sequence_bool_mask_feature.setter
    def sequence_bool_mask_feature(self, value: Union[BoolMaskFeature, Mapping[str, Any]]) -> None: ...
    @property
    def sequence_combine_feature(self) -> CombineFeature:
        """several numbers combined into one, one per step of a sequence"""
        ...
    @sequence_combine_feature.setter
    def sequence_combine_feature(self, value: Union[CombineFeature, Mapping[str, Any]]) -> None: ...


class SeqFeatureConfig(Message):
    """one feature of a grouped sequence"""
    @property
    def id_feature(self) -> IdFeature:
        """ids of a column, one per step"""
        ...
    @id_feature.setter
    def id_feature(self, value: Union[IdFeature, Mapping[str, Any]]) -> None: ...
    @property
    def raw_feature(self) -> RawFeature:
        """numbers of a column, one per step"""
        ...
    @raw_feature.setter
    def raw_feature(self, value: Union[RawFeature, Mapping[str, Any]]) -> None: ...
    @property
    def combo_feature(self) -> ComboFeature:
        """ids for combinations of columns, one per step"""
        ...
    @combo_feature.setter
    def combo_feature(self, value: Union[ComboFeature, Mapping[str, Any]]) -> None: ...
    @property
    def lookup_feature(self) -> LookupFeature:
        """values of a map column by key, one per step"""
        ...
    @lookup_feature.setter
    def lookup_feature(self, value: Union[LookupFeature, Mapping[str, Any]]) -> None: ...
    @property
    def match_feature(self) -> MatchFeature:
        """value of a two-level map column, one per step"""
        ...
    @match_feature.setter
    def match_feature(self, value: Union[MatchFeature, Mapping[str, Any]]) -> None: ...
    @property
    def expr_feature(self) -> ExprFeature:
        """a formula, one per step"""
        ...
    @expr_feature.setter
    def expr_feature(self, value: Union[ExprFeature, Mapping[str, Any]]) -> None: ...
    @property
    def overlap_feature(self) -> OverlapFeature:
        """common terms of two columns, one per step"""
        ...
    @overlap_feature.setter
    def overlap_feature(self, value: Union[OverlapFeature, Mapping[str, Any]]) -> None: ...
    @property
    def tokenize_feature(self) -> TokenizeFeature:
        """token ids of a text, one per step"""
        ...
    @tokenize_feature.setter
    def tokenize_feature(self, value: Union[TokenizeFeature, Mapping[str, Any]]) -> None: ...
    @property
    def custom_feature(self) -> CustomFeature:
        """result of an operator, one per step"""
        ...
    @custom_feature.setter
    def custom_feature(self, value: Union[CustomFeature, Mapping[str, Any]]) -> None: ...
    @property
    def kv_dot_product(self) -> KvDotProduct:
        """dot product of two key:weight columns, one per step"""
        ...
    @kv_dot_product.setter
    def kv_dot_product(self, value: Union[KvDotProduct, Mapping[str, Any]]) -> None: ...
    @property
    def bool_mask_feature(self) -> BoolMaskFeature:
        """ids where a mask is true, one per step"""
        ...
    @bool_mask_feature.setter
    def bool_mask_feature(self, value: Union[BoolMaskFeature, Mapping[str, Any]]) -> None: ...
    @property
    def combine_feature(self) -> CombineFeature:
        """several numbers combined into one, one per step"""
        ...
    @combine_feature.setter
    def combine_feature(self, value: Union[CombineFeature, Mapping[str, Any]]) -> None: ...


class SeqGroupConfig(Message):
    """sequence features (and query features) for the encoders of a group"""
    group_name: str
    """name that encoders refer to; unset: that of the feature group, when it has one sequence group"""
    @property
    def feature_names(self) -> Repeated[str]:
        """sequence features, and other features that form the query"""
        ...
    @feature_names.setter
    def feature_names(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    embedding_name_suffix: str
    """added to table names to get tables of their own; unset: that of the feature group"""


class FeatureGroupConfig(Message):
    """a named list of features that the model takes as one input"""
    group_name: str
    """name that the model's towers refer to (required)"""
    @property
    def feature_names(self) -> Repeated[str]:
        """the features; their order is the order in the vector"""
        ...
    @feature_names.setter
    def feature_names(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    group_type: FeatureGroupType
    """what the model gets"""
    @property
    def sequence_groups(self) -> Repeated[SeqGroupConfig]:
        """sequences to encode into this group; DEEP groups only"""
        ...
    @sequence_groups.setter
    def sequence_groups(self, value: Union[Repeated[SeqGroupConfig], Sequence[Union[SeqGroupConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def sequence_encoders(self) -> Repeated[SeqEncoderConfig]:
        """encoders that turn the sequence groups into vectors"""
        ...
    @sequence_encoders.setter
    def sequence_encoders(self, value: Union[Repeated[SeqEncoderConfig], Sequence[Union[SeqEncoderConfig, Mapping[str, Any]]]]) -> None: ...
    embedding_name_suffix: str
    """added to table names, so that the group does not share tables with others"""


class ParameterInit(Message):
    """initial values of the dense parameters whose whole name matches a pattern"""
    regex_pattern: str
    """regular expression that must match a parameter's whole name (required)"""
    init_fn: str
    """initial values, such as "nn.init.xavier_uniform_" or "nn.init.normal_,std=0.1" (required)"""


class ModelConfig(Message):
    """the model, its feature groups, losses and metrics"""
    @property
    def feature_groups(self) -> Repeated[FeatureGroupConfig]:
        """the inputs of the model"""
        ...
    @feature_groups.setter
    def feature_groups(self, value: Union[Repeated[FeatureGroupConfig], Sequence[Union[FeatureGroupConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def dlrm(self) -> DLRM:
        """dot products of all feature pairs"""
        ...
    @dlrm.setter
    def dlrm(self, value: Union[DLRM, Mapping[str, Any]]) -> None: ...
    @property
    def deepfm(self) -> DeepFM:
        """factorisation machine beside a deep net"""
        ...
    @deepfm.setter
    def deepfm(self, value: Union[DeepFM, Mapping[str, Any]]) -> None: ...
    @property
    def multi_tower(self) -> MultiTower:
        """one net per feature group, joined at the end"""
        ...
    @multi_tower.setter
    def multi_tower(self, value: Union[MultiTower, Mapping[str, Any]]) -> None: ...
    @property
    def multi_tower_din(self) -> MultiTowerDIN:
        """multi_tower with attention over behaviour sequences"""
        ...
    @multi_tower_din.setter
    def multi_tower_din(self, value: Union[MultiTowerDIN, Mapping[str, Any]]) -> None: ...
    @property
    def mask_net(self) -> MaskNet:
        """blocks that gate features by instance-wise masks"""
        ...
    @mask_net.setter
    def mask_net(self, value: Union[MaskNet, Mapping[str, Any]]) -> None: ...
    @property
    def wide_and_deep(self) -> WideAndDeep:
        """linear part beside a deep net"""
        ...
    @wide_and_deep.setter
    def wide_and_deep(self, value: Union[WideAndDeep, Mapping[str, Any]]) -> None: ...
    @property
    def dcn_v1(self) -> DCNV1:
        """cross layers with vectors beside a deep net"""
        ...
    @dcn_v1.setter
    def dcn_v1(self, value: Union[DCNV1, Mapping[str, Any]]) -> None: ...
    @property
    def dcn_v2(self) -> DCNV2:
        """cross layers with low-rank matrices"""
        ...
    @dcn_v2.setter
    def dcn_v2(self, value: Union[DCNV2, Mapping[str, Any]]) -> None: ...
    @property
    def xdeepfm(self) -> xDeepFM:
        """compressed interaction network beside a deep net"""
        ...
    @xdeepfm.setter
    def xdeepfm(self, value: Union[xDeepFM, Mapping[str, Any]]) -> None: ...
    @property
    def wukong(self) -> WuKong:
        """stacked factorisation machines"""
        ...
    @wukong.setter
    def wukong(self, value: Union[WuKong, Mapping[str, Any]]) -> None: ...
    @property
    def simple_multi_task(self) -> SimpleMultiTask:
        """several tasks, each with its own net on the same input"""
        ...
    @simple_multi_task.setter
    def simple_multi_task(self, value: Union[SimpleMultiTask, Mapping[str, Any]]) -> None: ...
    @property
    def share_bottom(self) -> ShareBottom:
        """several tasks above one shared net; ours"""
        ...
    @share_bottom.setter
    def share_bottom(self, value: Union[ShareBottom, Mapping[str, Any]]) -> None: ...
    @property
    def esmm(self) -> ESMM:
        """clicks, and conversions over all rows; ours"""
        ...
    @esmm.setter
    def esmm(self, value: Union[ESMM, Mapping[str, Any]]) -> None: ...
    @property
    def mmoe(self) -> MMoE:
        """several tasks that mix shared experts"""
        ...
    @mmoe.setter
    def mmoe(self, value: Union[MMoE, Mapping[str, Any]]) -> None: ...
    @property
    def dbmtl(self) -> DBMTL:
        """several tasks where later ones see earlier ones"""
        ...
    @dbmtl.setter
    def dbmtl(self, value: Union[DBMTL, Mapping[str, Any]]) -> None: ...
    @property
    def ple(self) -> PLE:
        """several tasks with shared and private experts in layers"""
        ...
    @ple.setter
    def ple(self, value: Union[PLE, Mapping[str, Any]]) -> None: ...
    @property
    def dc2vr(self) -> DC2VR:
        """several tasks with interventions between them"""
        ...
    @dc2vr.setter
    def dc2vr(self, value: Union[DC2VR, Mapping[str, Any]]) -> None: ...
    @property
    def dlrm_hstu(self) -> DlrmHSTU:
        """generative ranking over the user's history"""
        ...
    @dlrm_hstu.setter
    def dlrm_hstu(self, value: Union[DlrmHSTU, Mapping[str, Any]]) -> None: ...
    @property
    def pepnet(self) -> PEPNet:
        """several tasks and domains with personalised gates"""
        ...
    @pepnet.setter
    def pepnet(self, value: Union[PEPNet, Mapping[str, Any]]) -> None: ...
    @property
    def ultra_hstu(self) -> UltraHSTU:
        """generative ranking over several histories"""
        ...
    @ultra_hstu.setter
    def ultra_hstu(self, value: Union[UltraHSTU, Mapping[str, Any]]) -> None: ...
    @property
    def dssm(self) -> DSSM:
        """user and item towers for retrieval, each with its own tables"""
        ...
    @dssm.setter
    def dssm(self, value: Union[DSSM, Mapping[str, Any]]) -> None: ...
    @property
    def dssm_v2(self) -> DSSMV2:
        """user and item towers that share tables"""
        ...
    @dssm_v2.setter
    def dssm_v2(self, value: Union[DSSMV2, Mapping[str, Any]]) -> None: ...
    @property
    def dat(self) -> DAT:
        """two towers with learned augment vectors"""
        ...
    @dat.setter
    def dat(self, value: Union[DAT, Mapping[str, Any]]) -> None: ...
    @property
    def hstu_match(self) -> HSTUMatch:
        """retrieval with an HSTU user tower"""
        ...
    @hstu_match.setter
    def hstu_match(self, value: Union[HSTUMatch, Mapping[str, Any]]) -> None: ...
    @property
    def mind(self) -> MIND:
        """several interest vectors per user"""
        ...
    @mind.setter
    def mind(self, value: Union[MIND, Mapping[str, Any]]) -> None: ...
    @property
    def tdm(self) -> TDM:
        """retrieval through an item tree"""
        ...
    @tdm.setter
    def tdm(self, value: Union[TDM, Mapping[str, Any]]) -> None: ...
    @property
    def youtube_dnn(self) -> YoutubeDNN:
        """a net on the user against a vector per item (ours)"""
        ...
    @youtube_dnn.setter
    def youtube_dnn(self, value: Union[YoutubeDNN, Mapping[str, Any]]) -> None: ...
    @property
    def gru4rec(self) -> GRU4Rec:
        """recurrent units over a session (ours)"""
        ...
    @gru4rec.setter
    def gru4rec(self, value: Union[GRU4Rec, Mapping[str, Any]]) -> None: ...
    @property
    def ncf(self) -> NCF:
        """a product of user and item vectors beside a net on both (ours)"""
        ...
    @ncf.setter
    def ncf(self, value: Union[NCF, Mapping[str, Any]]) -> None: ...
    @property
    def srgnn(self) -> SRGNN:
        """a session as a graph of its items (ours)"""
        ...
    @srgnn.setter
    def srgnn(self, value: Union[SRGNN, Mapping[str, Any]]) -> None: ...
    @property
    def word2vec(self) -> Word2Vec:
        """skip-gram with negative sampling (ours)"""
        ...
    @word2vec.setter
    def word2vec(self, value: Union[Word2Vec, Mapping[str, Any]]) -> None: ...
    @property
    def match_towers(self) -> MatchTowers:
        """a query against candidates of each row, by cosine (ours)"""
        ...
    @match_towers.setter
    def match_towers(self, value: Union[MatchTowers, Mapping[str, Any]]) -> None: ...
    @property
    def look_alike(self) -> LookAlike:
        """seeds of an audience against a user (ours)"""
        ...
    @look_alike.setter
    def look_alike(self, value: Union[LookAlike, Mapping[str, Any]]) -> None: ...
    @property
    def text_cnn(self) -> TextCNN:
        """convolutions along a text (ours)"""
        ...
    @text_cnn.setter
    def text_cnn(self, value: Union[TextCNN, Mapping[str, Any]]) -> None: ...
    @property
    def rocket_launching(self) -> RocketLaunching:
        """a light net trained beside a large one"""
        ...
    @rocket_launching.setter
    def rocket_launching(self, value: Union[RocketLaunching, Mapping[str, Any]]) -> None: ...
    @property
    def sid_rqvae(self) -> SidRqvae:
        """semantic ids through a residual quantised auto-encoder"""
        ...
    @sid_rqvae.setter
    def sid_rqvae(self, value: Union[SidRqvae, Mapping[str, Any]]) -> None: ...
    @property
    def sid_rqkmeans(self) -> SidRqkmeans:
        """semantic ids through residual k-means"""
        ...
    @sid_rqkmeans.setter
    def sid_rqkmeans(self, value: Union[SidRqkmeans, Mapping[str, Any]]) -> None: ...
    @property
    def logistic_regression(self) -> LogisticRegression:
        """one weight per id"""
        ...
    @logistic_regression.setter
    def logistic_regression(self, value: Union[LogisticRegression, Mapping[str, Any]]) -> None: ...
    @property
    def fm(self) -> FM:
        """factorisation machine"""
        ...
    @fm.setter
    def fm(self, value: Union[FM, Mapping[str, Any]]) -> None: ...
    @property
    def fnn(self) -> FNN:
        """net on what a factorisation machine learnt"""
        ...
    @fnn.setter
    def fnn(self, value: Union[FNN, Mapping[str, Any]]) -> None: ...
    @property
    def nfm(self) -> NFM:
        """net on the products of all fields"""
        ...
    @nfm.setter
    def nfm(self, value: Union[NFM, Mapping[str, Any]]) -> None: ...
    @property
    def pnn(self) -> PNN:
        """net on products of fields"""
        ...
    @pnn.setter
    def pnn(self, value: Union[PNN, Mapping[str, Any]]) -> None: ...
    @property
    def ffm(self) -> FFM:
        """factorisation machine with vectors for each other field"""
        ...
    @ffm.setter
    def ffm(self, value: Union[FFM, Mapping[str, Any]]) -> None: ...
    @property
    def afm(self) -> AFM:
        """factorisation machine with attention over pairs"""
        ...
    @afm.setter
    def afm(self, value: Union[AFM, Mapping[str, Any]]) -> None: ...
    @property
    def fwfm(self) -> FwFM:
        """factorisation machine with weights of pairs"""
        ...
    @fwfm.setter
    def fwfm(self, value: Union[FwFM, Mapping[str, Any]]) -> None: ...
    @property
    def fibinet(self) -> FiBiNET:
        """gated fields and bilinear products"""
        ...
    @fibinet.setter
    def fibinet(self, value: Union[FiBiNET, Mapping[str, Any]]) -> None: ...
    @property
    def fgcnn(self) -> FGCNN:
        """new fields made by convolutions"""
        ...
    @fgcnn.setter
    def fgcnn(self, value: Union[FGCNN, Mapping[str, Any]]) -> None: ...
    @property
    def autoint(self) -> AutoInt:
        """fields that attend to each other"""
        ...
    @autoint.setter
    def autoint(self, value: Union[AutoInt, Mapping[str, Any]]) -> None: ...
    @property
    def gatenet(self) -> GateNet:
        """net with gates"""
        ...
    @gatenet.setter
    def gatenet(self, value: Union[GateNet, Mapping[str, Any]]) -> None: ...
    @property
    def flen(self) -> FLEN:
        """products within and between groups of fields"""
        ...
    @flen.setter
    def flen(self, value: Union[FLEN, Mapping[str, Any]]) -> None: ...
    @property
    def deep_crossing(self) -> DeepCrossing:
        """residual units"""
        ...
    @deep_crossing.setter
    def deep_crossing(self, value: Union[DeepCrossing, Mapping[str, Any]]) -> None: ...
    @property
    def dmr(self) -> DMR:
        """closeness of the item to user and history"""
        ...
    @dmr.setter
    def dmr(self, value: Union[DMR, Mapping[str, Any]]) -> None: ...
    @property
    def bst(self) -> BST:
        """attention between the item and the history"""
        ...
    @bst.setter
    def bst(self, value: Union[BST, Mapping[str, Any]]) -> None: ...
    @property
    def dien(self) -> DIEN:
        """interests that evolve along the history"""
        ...
    @dien.setter
    def dien(self, value: Union[DIEN, Mapping[str, Any]]) -> None: ...
    num_class: int
    """outputs of the head of a model with one task"""
    @property
    def losses(self) -> Repeated[LossConfig]:
        """losses of a model with one task, added up"""
        ...
    @losses.setter
    def losses(self, value: Union[Repeated[LossConfig], Sequence[Union[LossConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def metrics(self) -> Repeated[MetricConfig]:
        """metrics of the evaluation, for a model with one task"""
        ...
    @metrics.setter
    def metrics(self, value: Union[Repeated[MetricConfig], Sequence[Union[MetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def train_metrics(self) -> Repeated[TrainMetricConfig]:
        """metrics shown while training, for a model with one task"""
        ...
    @train_metrics.setter
    def train_metrics(self, value: Union[Repeated[TrainMetricConfig], Sequence[Union[TrainMetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def initializers(self) -> Repeated[ParameterInit]:
        """initial values of dense parameters whose names match; the first match counts; ours"""
        ...
    @initializers.setter
    def initializers(self, value: Union[Repeated[ParameterInit], Sequence[Union[ParameterInit, Mapping[str, Any]]]]) -> None: ...
    @property
    def variational_dropout(self) -> VariationalDropout:
        """learns which features can be left out; on when the message is present"""
        ...
    @variational_dropout.setter
    def variational_dropout(self, value: Union[VariationalDropout, Mapping[str, Any]]) -> None: ...
    kernel: Kernel
    """implementation of the HSTU operations (without effect: kernels are chosen for the processor at hand)"""
    use_pareto_loss_weight: bool
    """weigh the tasks' losses by a Pareto rule each step; several tasks only"""


class MLP(Message):
    """fully connected layers, each with activation and optional norm and dropout"""
    @property
    def hidden_units(self) -> Repeated[int]:
        """widths of the layers (at least 1)"""
        ...
    @hidden_units.setter
    def hidden_units(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def dropout_ratio(self) -> Repeated[float]:
        """share of values dropped after each layer: none, one for all layers, or one per layer"""
        ...
    @dropout_ratio.setter
    def dropout_ratio(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    activation: str
    """activation, such as nn.ReLU, nn.SiLU or Dice; empty: none"""
    use_bn: bool
    """batch norm after each linear layer, which then has no bias"""
    bias: bool
    """linear layers have a bias; without effect under use_bn"""
    use_ln: bool
    """layer norm after each linear layer; not together with use_bn"""


class ExtractionNetwork(Message):
    """one layer of experts of PLE"""
    network_name: str
    """a label; nothing refers to it (required)"""
    expert_num_per_task: int
    """private experts of each task (required)"""
    share_num: int
    """shared experts"""
    @property
    def task_expert_net(self) -> MLP:
        """net of a private expert (required)"""
        ...
    @task_expert_net.setter
    def task_expert_net(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def share_expert_net(self) -> MLP:
        """net of a shared expert"""
        ...
    @share_expert_net.setter
    def share_expert_net(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class VariationalDropout(Message):
    """learned dropout per feature, to find features that can go"""
    regularization_lambda: float
    """strength of the pull towards dropping a feature"""
    embedding_wise_variational_dropout: bool
    """meant to drop single values of a vector (without effect: dropping is always per feature)"""


class B2ICapsule(Message):
    """turns a behaviour sequence into several interest vectors"""
    max_k: int
    """interest vectors at most (at least 1)"""
    max_seq_len: int
    """steps that are used; longer sequences are cut (required)"""
    high_dim: int
    """width of an interest vector (required)"""
    num_iters: int
    """rounds of routing (at least 1)"""
    routing_logits_scale: float
    """factor before the softmax of routing"""
    routing_logits_stddev: float
    """spread of the first routing logits"""
    squash_pow: float
    """power of the squash function"""
    const_caps_num: bool
    """always max_k vectors, however short the sequence"""
    routing_init_method: Literal["normal", "zeros"]
    """first routing logits: random or zeros (which makes inference repeatable) (one of 'normal', 'zeros')"""


class MaskBlock(Message):
    """a mask computed from the whole input, applied to a hidden layer"""
    reduction_ratio: float
    """width of the mask's hidden layer relative to the input; 0: use aggregation_dim"""
    aggregation_dim: int
    """width of the mask's hidden layer; used when reduction_ratio is 0"""
    hidden_dim: int
    """width of the block's output (required)"""


class MaskNetModule(Message):
    """mask blocks side by side or one after the other"""
    n_mask_blocks: int
    """number of blocks (required)"""
    @property
    def mask_block(self) -> MaskBlock:
        """shape of each block (required)"""
        ...
    @mask_block.setter
    def mask_block(self, value: Union[MaskBlock, Mapping[str, Any]]) -> None: ...
    @property
    def top_mlp(self) -> MLP:
        """net on the blocks' outputs"""
        ...
    @top_mlp.setter
    def top_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    use_parallel: bool
    """blocks side by side; false: one after the other"""


class Cross(Message):
    """cross layers of DCN v1"""
    cross_num: int
    """number of layers"""


class CrossV2(Message):
    """cross layers of DCN v2"""
    cross_num: int
    """number of layers"""
    low_rank: int
    """rank of each layer's matrix"""


class CIN(Message):
    """compressed interaction network"""
    @property
    def cin_layer_size(self) -> Repeated[int]:
        """feature maps of each layer"""
        ...
    @cin_layer_size.setter
    def cin_layer_size(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...


class WuKongLayer(Message):
    """a factorisation machine block beside a linear compression"""
    lcb_feature_num: int
    """features out of the linear part (required)"""
    fmb_feature_num: int
    """features out of the factorisation part (required)"""
    compressed_feature_num: int
    """features that the interactions are reduced to"""
    @property
    def feature_num_mlp(self) -> MLP:
        """net on the interactions (required)"""
        ...
    @feature_num_mlp.setter
    def feature_num_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class GRSimpleActionEncoder(Message):
    """vectors for the actions of the history"""
    action_embedding_dim: int
    """width of the vector of one action type"""
    @property
    def action_weights(self) -> Repeated[int]:
        """bit mask of each action type in the action feature"""
        ...
    @action_weights.setter
    def action_weights(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def watchtime_to_action_thresholds(self) -> Repeated[int]:
        """watch times from which an extra action counts"""
        ...
    @watchtime_to_action_thresholds.setter
    def watchtime_to_action_thresholds(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def watchtime_to_action_weights(self) -> Repeated[int]:
        """bit mask added from each threshold on; as many as thresholds"""
        ...
    @watchtime_to_action_weights.setter
    def watchtime_to_action_weights(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    embedding_init_std: float
    """meant to be the spread of the initial values (without effect: the spread is always 0.1)"""


class GRActionEncoder(Message):
    """how actions become vectors"""
    @property
    def simple_action_encoder(self) -> GRSimpleActionEncoder:
        """bit masks, one vector per action type"""
        ...
    @simple_action_encoder.setter
    def simple_action_encoder(self, value: Union[GRSimpleActionEncoder, Mapping[str, Any]]) -> None: ...


class GRSliceContentEncoder(Message):
    """candidates use the initial values of their vector"""


class GRPadContentEncoder(Message):
    """history vectors are padded to the candidates' width"""


class GRMLPContentEncoder(Message):
    """nets bring history and candidates to one width"""
    @property
    def uih_mlp(self) -> MLP:
        """net of the history items (required)"""
        ...
    @uih_mlp.setter
    def uih_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def target_mlp(self) -> MLP:
        """net of the candidates; same output width (required)"""
        ...
    @target_mlp.setter
    def target_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class GRContentEncoder(Message):
    """how items become vectors of one width"""
    @property
    def slice_content_encoder(self) -> GRSliceContentEncoder:
        """cut the candidates' vectors"""
        ...
    @slice_content_encoder.setter
    def slice_content_encoder(self, value: Union[GRSliceContentEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def pad_content_encoder(self) -> GRPadContentEncoder:
        """pad the history's vectors"""
        ...
    @pad_content_encoder.setter
    def pad_content_encoder(self, value: Union[GRPadContentEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def mlp_content_encoder(self) -> GRMLPContentEncoder:
        """a net for each"""
        ...
    @mlp_content_encoder.setter
    def mlp_content_encoder(self, value: Union[GRMLPContentEncoder, Mapping[str, Any]]) -> None: ...


class GRSimpleContextualizedMLP(Message):
    """a net with one hidden layer"""
    hidden_dim: int
    """width of the hidden layer (required)"""


class GRParameterizedContextualizedMLP(Message):
    """a net whose weights depend on the context features"""
    hidden_dim: int
    """width of the hidden layer (required)"""
    contextual_dropout_ratio: float
    """share of context values dropped in training"""


class GRContextualizedMLP(Message):
    """net in front of the sequence model"""
    @property
    def simple_mlp(self) -> GRSimpleContextualizedMLP:
        """independent of the context"""
        ...
    @simple_mlp.setter
    def simple_mlp(self, value: Union[GRSimpleContextualizedMLP, Mapping[str, Any]]) -> None: ...
    @property
    def parameterized_mlp(self) -> GRParameterizedContextualizedMLP:
        """steered by the context"""
        ...
    @parameterized_mlp.setter
    def parameterized_mlp(self, value: Union[GRParameterizedContextualizedMLP, Mapping[str, Any]]) -> None: ...


class GRContextualPreprocessor(Message):
    """context, history and candidates as one sequence"""
    @property
    def action_encoder(self) -> GRActionEncoder:
        """adds action vectors to history items"""
        ...
    @action_encoder.setter
    def action_encoder(self, value: Union[GRActionEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def action_mlp(self) -> GRContextualizedMLP:
        """net on the action vectors; needed with action_encoder"""
        ...
    @action_mlp.setter
    def action_mlp(self, value: Union[GRContextualizedMLP, Mapping[str, Any]]) -> None: ...
    @property
    def content_encoder(self) -> GRContentEncoder:
        """how items become vectors (required)"""
        ...
    @content_encoder.setter
    def content_encoder(self, value: Union[GRContentEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def content_mlp(self) -> GRContextualizedMLP:
        """net on the item vectors (required)"""
        ...
    @content_mlp.setter
    def content_mlp(self, value: Union[GRContextualizedMLP, Mapping[str, Any]]) -> None: ...


class GRContextualInterleavePreprocessor(Message):
    """as contextual_preprocessor, items and actions taking turns"""
    @property
    def action_encoder(self) -> GRActionEncoder:
        """makes the action tokens"""
        ...
    @action_encoder.setter
    def action_encoder(self, value: Union[GRActionEncoder, Mapping[str, Any]]) -> None: ...
    enable_interleaving: bool
    """items and actions are tokens of their own; needs action_encoder"""
    @property
    def action_mlp(self) -> GRContextualizedMLP:
        """net on the action vectors; needed with action_encoder"""
        ...
    @action_mlp.setter
    def action_mlp(self, value: Union[GRContextualizedMLP, Mapping[str, Any]]) -> None: ...
    @property
    def content_encoder(self) -> GRContentEncoder:
        """how items become vectors (required)"""
        ...
    @content_encoder.setter
    def content_encoder(self, value: Union[GRContentEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def content_mlp(self) -> GRContextualizedMLP:
        """net on the item vectors (required)"""
        ...
    @content_mlp.setter
    def content_mlp(self, value: Union[GRContextualizedMLP, Mapping[str, Any]]) -> None: ...


class GRUIHPreprocessor(Message):
    """history only, for retrieval"""
    @property
    def action_encoder(self) -> GRActionEncoder:
        """adds action vectors to history items"""
        ...
    @action_encoder.setter
    def action_encoder(self, value: Union[GRActionEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def action_mlp(self) -> GRContextualizedMLP:
        """net on the action vectors; needed with action_encoder"""
        ...
    @action_mlp.setter
    def action_mlp(self, value: Union[GRContextualizedMLP, Mapping[str, Any]]) -> None: ...


class GRInputPreprocessor(Message):
    """how features become the token sequence"""
    @property
    def contextual_preprocessor(self) -> GRContextualPreprocessor:
        """context, history, candidates"""
        ...
    @contextual_preprocessor.setter
    def contextual_preprocessor(self, value: Union[GRContextualPreprocessor, Mapping[str, Any]]) -> None: ...
    @property
    def contextual_interleave_preprocessor(self) -> GRContextualInterleavePreprocessor:
        """the same with actions as tokens"""
        ...
    @contextual_interleave_preprocessor.setter
    def contextual_interleave_preprocessor(self, value: Union[GRContextualInterleavePreprocessor, Mapping[str, Any]]) -> None: ...
    @property
    def uih_preprocessor(self) -> GRUIHPreprocessor:
        """history only"""
        ...
    @uih_preprocessor.setter
    def uih_preprocessor(self, value: Union[GRUIHPreprocessor, Mapping[str, Any]]) -> None: ...


class GRL2NormPostprocessor(Message):
    """scales each output to length 1"""


class GRLayerNormPostprocessor(Message):
    """layer norm on each output"""


class GRTimestampLayerNormPostprocessor(Message):
    """adds time-of-day and similar signals, then layer norm"""
    @property
    def time_duration_period_units(self) -> Repeated[int]:
        """lengths of one unit in seconds, such as 3600"""
        ...
    @time_duration_period_units.setter
    def time_duration_period_units(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def time_duration_units_per_period(self) -> Repeated[int]:
        """units per period, such as 24; as many as units"""
        ...
    @time_duration_units_per_period.setter
    def time_duration_units_per_period(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...


class GROutputPostprocessor(Message):
    """what happens to the sequence model's outputs"""
    @property
    def l2norm_postprocessor(self) -> GRL2NormPostprocessor:
        """scale to length 1"""
        ...
    @l2norm_postprocessor.setter
    def l2norm_postprocessor(self, value: Union[GRL2NormPostprocessor, Mapping[str, Any]]) -> None: ...
    @property
    def layernorm_postprocessor(self) -> GRLayerNormPostprocessor:
        """layer norm"""
        ...
    @layernorm_postprocessor.setter
    def layernorm_postprocessor(self, value: Union[GRLayerNormPostprocessor, Mapping[str, Any]]) -> None: ...
    @property
    def timestamp_layernorm_postprocessor(self) -> GRTimestampLayerNormPostprocessor:
        """time signals and layer norm"""
        ...
    @timestamp_layernorm_postprocessor.setter
    def timestamp_layernorm_postprocessor(self, value: Union[GRTimestampLayerNormPostprocessor, Mapping[str, Any]]) -> None: ...


class STU(Message):
    """one sequential transduction layer"""
    embedding_dim: int
    """width of a token (required)"""
    num_heads: int
    """attention heads (required)"""
    hidden_dim: int
    """width of values and gates per head (required)"""
    attention_dim: int
    """width of queries and keys per head (required)"""
    output_dropout_ratio: float
    """share of output values dropped in training"""
    max_attn_len: int
    """tokens that attention looks back; 0 or unset: all"""
    attn_alpha: float
    """scale of the attention scores; 0 or unset: 1/sqrt(attention_dim)"""
    use_group_norm: bool
    """norm per head instead of over all heads"""
    recompute_normed_x: bool
    """save memory by computing the input norm again; same result (without effect: what can be worked out again is never stored; the result is the same)"""
    recompute_uvqk: bool
    """save memory by computing the projections again; same result (without effect: what can be worked out again is never stored; the result is the same)"""
    recompute_y: bool
    """save memory by computing the gated output again; same result (without effect: what can be worked out again is never stored; the result is the same)"""
    sort_by_length: bool
    """order sequences by length for speed; same result (without effect: rows have the length that they have; the result is the same)"""
    contextual_seq_len: int
    """context tokens at the front; below 0: as the preprocessor makes them"""
    sla_k1: int
    """semi-local attention: recent tokens that are seen; 0 or unset: off"""
    sla_k2: int
    """semi-local attention: first tokens that all see; 0 or unset: off"""
    scaling_seqlen: int
    """length that scores are divided by; below 0: the model's max_seq_len"""
    relative_position_buckets: int
    """distances of two tokens that have a learnt bias of their scores; the last stands for all beyond; 0 or unset: none; an extension of Trainyard (0..1048576)"""


class GRPositionalEncoder(Message):
    """vectors for position and time"""
    num_position_buckets: int
    """positions that have a vector of their own (required)"""
    num_time_buckets: int
    """time differences that have a vector of their own"""
    use_time_encoding: bool
    """add vectors for the time since the interaction"""
    time_bucket_fn: Literal["sqrt", "log"]
    """how time differences are compressed (one of 'sqrt', 'log')"""
    time_bucket_increments: float
    """seconds that time differences are divided by first"""


class HSTU(Message):
    """the sequence model: preprocessor, positions, STU layers, postprocessor"""
    @property
    def stu(self) -> STU:
        """shape of each layer (required)"""
        ...
    @stu.setter
    def stu(self, value: Union[STU, Mapping[str, Any]]) -> None: ...
    input_dropout_ratio: float
    """share of input values dropped in training"""
    attn_num_layers: int
    """number of STU layers"""
    @property
    def positional_encoder(self) -> GRPositionalEncoder:
        """vectors for position and time (required)"""
        ...
    @positional_encoder.setter
    def positional_encoder(self, value: Union[GRPositionalEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def input_preprocessor(self) -> GRInputPreprocessor:
        """how features become tokens (required)"""
        ...
    @input_preprocessor.setter
    def input_preprocessor(self, value: Union[GRInputPreprocessor, Mapping[str, Any]]) -> None: ...
    @property
    def output_postprocessor(self) -> GROutputPostprocessor:
        """what happens to the outputs (required)"""
        ...
    @output_postprocessor.setter
    def output_postprocessor(self, value: Union[GROutputPostprocessor, Mapping[str, Any]]) -> None: ...
    attn_truncation_split_layer: int
    """from this layer on only recent history is kept; 0 or unset: all of it"""
    attn_truncation_tail_len: int
    """history tokens kept from the split layer on; goes with the split layer"""
    name: str
    """names the history's feature groups in ultra_hstu, in place of uih"""


class DINEncoder(Message):
    """attention of the query over the sequence"""
    name: str
    """a label (without effect: nothing refers to an encoder by name: its parameters are named after its group and place)"""
    input: str
    """sequence group to encode; unset: the only one (required)"""
    @property
    def attn_mlp(self) -> MLP:
        """net that scores each step (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    max_seq_length: int
    """steps that are used; 0: all"""


class SimpleAttention(Message):
    """dot-product attention of the query; no parameters"""
    name: str
    """a label (without effect: nothing refers to an encoder by name: its parameters are named after its group and place)"""
    input: str
    """sequence group to encode; unset: the only one (required)"""
    max_seq_length: int
    """steps that are used; 0: all"""


class PoolingEncoder(Message):
    """sum or mean of the steps"""
    name: str
    """a label (without effect: nothing refers to an encoder by name: its parameters are named after its group and place)"""
    input: str
    """sequence group to encode; unset: the only one (required)"""
    pooling_type: Literal["sum", "mean"]
    """sum or mean (one of 'sum', 'mean')"""
    max_seq_length: int
    """steps that are used; 0: all"""


class SelfAttentionEncoder(Message):
    """steps attend to each other, then their mean"""
    name: str
    """a label (without effect: nothing refers to an encoder by name: its parameters are named after its group and place)"""
    input: str
    """sequence group to encode; unset: the only one (required)"""
    multihead_attn_dim: int
    """width of all heads together (1..2147483647)"""
    num_heads: int
    """attention heads; must divide multihead_attn_dim (1..2147483647)"""
    dropout: float
    """share of attention weights dropped in training"""
    max_seq_length: int
    """steps that are used; 0: all"""


class MultiWindowDINEncoder(Message):
    """attention summed per time window"""
    name: str
    """a label (without effect: nothing refers to an encoder by name: its parameters are named after its group and place)"""
    input: str
    """sequence group to encode; unset: the only one (required)"""
    @property
    def attn_mlp(self) -> MLP:
        """net that scores each step (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def windows_len(self) -> Repeated[int]:
        """steps of each window, nearest first"""
        ...
    @windows_len.setter
    def windows_len(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...


class SeqEncoderConfig(Message):
    """one encoder of a sequence group"""
    @property
    def din_encoder(self) -> DINEncoder:
        """attention of the query, scored by a net"""
        ...
    @din_encoder.setter
    def din_encoder(self, value: Union[DINEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def simple_attention(self) -> SimpleAttention:
        """dot-product attention of the query"""
        ...
    @simple_attention.setter
    def simple_attention(self, value: Union[SimpleAttention, Mapping[str, Any]]) -> None: ...
    @property
    def pooling_encoder(self) -> PoolingEncoder:
        """sum or mean"""
        ...
    @pooling_encoder.setter
    def pooling_encoder(self, value: Union[PoolingEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def multi_window_din_encoder(self) -> MultiWindowDINEncoder:
        """attention per time window"""
        ...
    @multi_window_din_encoder.setter
    def multi_window_din_encoder(self, value: Union[MultiWindowDINEncoder, Mapping[str, Any]]) -> None: ...
    @property
    def self_attention_encoder(self) -> SelfAttentionEncoder:
        """steps attend to each other"""
        ...
    @self_attention_encoder.setter
    def self_attention_encoder(self, value: Union[SelfAttentionEncoder, Mapping[str, Any]]) -> None: ...


class Tower(Message):
    """a net on one feature group"""
    input: str
    """feature group (required)"""
    @property
    def mlp(self) -> MLP:
        """the net"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class HSTUUserTower(Message):
    """user tower of hstu_match"""
    input: str
    """feature group of the history (required)"""
    @property
    def hstu(self) -> HSTU:
        """the sequence model (required)"""
        ...
    @hstu.setter
    def hstu(self, value: Union[HSTU, Mapping[str, Any]]) -> None: ...
    max_seq_len: int
    """longest sequence of tokens (required)"""


class DINTower(Message):
    """attention over one sequence group"""
    input: str
    """feature group of type SEQUENCE (required)"""
    @property
    def attn_mlp(self) -> MLP:
        """net that scores each step (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class TaskTower(Message):
    """head of one task"""
    tower_name: str
    """name of the task; ends the names of its outputs (required)"""
    label_name: str
    """label column, one of data_config.label_fields (required)"""
    @property
    def metrics(self) -> Repeated[MetricConfig]:
        """metrics of the evaluation"""
        ...
    @metrics.setter
    def metrics(self, value: Union[Repeated[MetricConfig], Sequence[Union[MetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def train_metrics(self) -> Repeated[TrainMetricConfig]:
        """metrics shown while training"""
        ...
    @train_metrics.setter
    def train_metrics(self, value: Union[Repeated[TrainMetricConfig], Sequence[Union[TrainMetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def losses(self) -> Repeated[LossConfig]:
        """losses of the task, added up"""
        ...
    @losses.setter
    def losses(self, value: Union[Repeated[LossConfig], Sequence[Union[LossConfig, Mapping[str, Any]]]]) -> None: ...
    num_class: int
    """outputs of the task's head"""
    @property
    def mlp(self) -> MLP:
        """net of the task; unset: none"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    weight: float
    """factor of the task's loss"""
    sample_weight_name: str
    """column of sample_weight_fields that weighs the rows; unset: all alike"""
    task_space_indicator_label: str
    """label column that says (above 0) whether a row belongs to the task's space"""
    in_task_space_weight: float
    """weight of rows inside the space, relative to those outside"""
    out_task_space_weight: float
    """weight of rows outside the space; 0: they do not count"""
    pareto_min_loss_weight: float
    """least weight under use_pareto_loss_weight"""


class BayesTaskTower(Message):
    """head of one task that may see earlier tasks"""
    tower_name: str
    """name of the task; ends the names of its outputs (required)"""
    label_name: str
    """label column; unset: that of the same place in data_config.label_fields"""
    @property
    def metrics(self) -> Repeated[MetricConfig]:
        """metrics of the evaluation"""
        ...
    @metrics.setter
    def metrics(self, value: Union[Repeated[MetricConfig], Sequence[Union[MetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def train_metrics(self) -> Repeated[TrainMetricConfig]:
        """metrics shown while training"""
        ...
    @train_metrics.setter
    def train_metrics(self, value: Union[Repeated[TrainMetricConfig], Sequence[Union[TrainMetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def losses(self) -> Repeated[LossConfig]:
        """losses of the task, added up"""
        ...
    @losses.setter
    def losses(self, value: Union[Repeated[LossConfig], Sequence[Union[LossConfig, Mapping[str, Any]]]]) -> None: ...
    num_class: int
    """outputs of the task's head"""
    @property
    def mlp(self) -> MLP:
        """net of the task; unset: none"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    weight: float
    """factor of the task's loss"""
    @property
    def relation_tower_names(self) -> Repeated[str]:
        """earlier tasks whose output this one sees"""
        ...
    @relation_tower_names.setter
    def relation_tower_names(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    @property
    def relation_mlp(self) -> MLP:
        """net on the task's own output and the earlier ones"""
        ...
    @relation_mlp.setter
    def relation_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    sample_weight_name: str
    """column of sample_weight_fields that weighs the rows; unset: all alike"""
    task_space_indicator_label: str
    """label column that says (above 0) whether a row belongs to the task's space"""
    in_task_space_weight: float
    """weight of rows inside the space, relative to those outside"""
    out_task_space_weight: float
    """weight of rows outside the space; 0: they do not count"""
    pareto_min_loss_weight: float
    """least weight under use_pareto_loss_weight"""


class InterventionTaskTower(Message):
    """head of one task that is shifted by earlier tasks"""
    tower_name: str
    """name of the task; ends the names of its outputs (required)"""
    label_name: str
    """label column; unset: that of the same place in data_config.label_fields"""
    @property
    def metrics(self) -> Repeated[MetricConfig]:
        """metrics of the evaluation"""
        ...
    @metrics.setter
    def metrics(self, value: Union[Repeated[MetricConfig], Sequence[Union[MetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def train_metrics(self) -> Repeated[TrainMetricConfig]:
        """metrics shown while training"""
        ...
    @train_metrics.setter
    def train_metrics(self, value: Union[Repeated[TrainMetricConfig], Sequence[Union[TrainMetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def losses(self) -> Repeated[LossConfig]:
        """losses of the task, added up"""
        ...
    @losses.setter
    def losses(self, value: Union[Repeated[LossConfig], Sequence[Union[LossConfig, Mapping[str, Any]]]]) -> None: ...
    num_class: int
    """outputs of the task's head"""
    @property
    def mlp(self) -> MLP:
        """net of the task; unset: none"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    weight: float
    """factor of the task's loss"""
    @property
    def intervention_tower_names(self) -> Repeated[str]:
        """earlier tasks that shift this one"""
        ...
    @intervention_tower_names.setter
    def intervention_tower_names(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    low_rank_dim: int
    """rank of the shift; unset: none (required)"""
    dropout_ratio: float
    """share of values dropped in the shift"""
    task_space_indicator_label: str
    """label column that says (above 0) whether a row belongs to the task's space"""
    in_task_space_weight: float
    """weight of rows inside the space, relative to those outside"""
    out_task_space_weight: float
    """weight of rows outside the space; 0: they do not count"""
    pareto_min_loss_weight: float
    """least weight under use_pareto_loss_weight"""


class FusionSubTaskConfig(Message):
    """one task of the HSTU models"""
    task_name: str
    """name of the task; ends the names of its outputs (required)"""
    label_name: str
    """label column with one value per candidate (required)"""
    task_bitmask: int
    """the label is (column & mask) > 0; unset: the column itself"""
    @property
    def metrics(self) -> Repeated[MetricConfig]:
        """metrics of the evaluation"""
        ...
    @metrics.setter
    def metrics(self, value: Union[Repeated[MetricConfig], Sequence[Union[MetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def train_metrics(self) -> Repeated[TrainMetricConfig]:
        """metrics shown while training"""
        ...
    @train_metrics.setter
    def train_metrics(self, value: Union[Repeated[TrainMetricConfig], Sequence[Union[TrainMetricConfig, Mapping[str, Any]]]]) -> None: ...
    @property
    def losses(self) -> Repeated[LossConfig]:
        """losses of the task, added up"""
        ...
    @losses.setter
    def losses(self, value: Union[Repeated[LossConfig], Sequence[Union[LossConfig, Mapping[str, Any]]]]) -> None: ...
    num_class: int
    """outputs of the task's head"""
    weight: float
    """factor of the task's loss"""


class FusionMTLTower(Message):
    """heads of the HSTU models"""
    @property
    def mlp(self) -> MLP:
        """net that all tasks share"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def task_configs(self) -> Repeated[FusionSubTaskConfig]:
        """the tasks"""
        ...
    @task_configs.setter
    def task_configs(self, value: Union[Repeated[FusionSubTaskConfig], Sequence[Union[FusionSubTaskConfig, Mapping[str, Any]]]]) -> None: ...


class MultiWindowDINTower(Message):
    """attention per time window, for tdm"""
    @property
    def windows_len(self) -> Repeated[int]:
        """steps of each window, nearest first"""
        ...
    @windows_len.setter
    def windows_len(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def attn_mlp(self) -> MLP:
        """net that scores each step (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class DATTower(Message):
    """tower of dat"""
    input: str
    """feature group (required)"""
    augment_input: str
    """feature group of the augment vector; as wide as the tower's output (required)"""
    @property
    def mlp(self) -> MLP:
        """net on both groups (required)"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class MINDUserTower(Message):
    """user tower of mind"""
    input: str
    """feature group of the user (required)"""
    history_input: str
    """feature group of type SEQUENCE with the history (required)"""
    @property
    def user_mlp(self) -> MLP:
        """net on the user group (required)"""
        ...
    @user_mlp.setter
    def user_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def hist_seq_mlp(self) -> MLP:
        """net on each step of the history"""
        ...
    @hist_seq_mlp.setter
    def hist_seq_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    user_seq_combine: UserSeqCombineMethod
    """how user and history vectors are joined (without effect: they are always put side by side)"""
    @property
    def capsule_config(self) -> B2ICapsule:
        """how the history becomes interest vectors (required)"""
        ...
    @capsule_config.setter
    def capsule_config(self, value: Union[B2ICapsule, Mapping[str, Any]]) -> None: ...
    @property
    def concat_mlp(self) -> MLP:
        """net on user and interest vector together (required)"""
        ...
    @concat_mlp.setter
    def concat_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class LossConfig(Message):
    """one loss"""
    @property
    def binary_cross_entropy(self) -> BinaryCrossEntropy:
        """for 0/1 labels, one output"""
        ...
    @binary_cross_entropy.setter
    def binary_cross_entropy(self, value: Union[BinaryCrossEntropy, Mapping[str, Any]]) -> None: ...
    @property
    def softmax_cross_entropy(self) -> SoftmaxCrossEntropy:
        """for class labels, or for match models"""
        ...
    @softmax_cross_entropy.setter
    def softmax_cross_entropy(self, value: Union[SoftmaxCrossEntropy, Mapping[str, Any]]) -> None: ...
    @property
    def l2_loss(self) -> L2Loss:
        """squared error, for numbers"""
        ...
    @l2_loss.setter
    def l2_loss(self, value: Union[L2Loss, Mapping[str, Any]]) -> None: ...
    @property
    def jrc_loss(self) -> JRCLoss:
        """ranking and calibration together, two outputs"""
        ...
    @jrc_loss.setter
    def jrc_loss(self, value: Union[JRCLoss, Mapping[str, Any]]) -> None: ...
    @property
    def binary_focal_loss(self) -> BinaryFocalLoss:
        """for rare 0/1 labels, one output"""
        ...
    @binary_focal_loss.setter
    def binary_focal_loss(self, value: Union[BinaryFocalLoss, Mapping[str, Any]]) -> None: ...
    @property
    def log_loss(self) -> LogLoss:
        """for 0/1 labels, one output, with an epsilon in the logarithm; ours"""
        ...
    @log_loss.setter
    def log_loss(self, value: Union[LogLoss, Mapping[str, Any]]) -> None: ...
    @property
    def hinge_loss(self) -> HingeLoss:
        """for class labels: the right score above all others by a margin; ours"""
        ...
    @hinge_loss.setter
    def hinge_loss(self, value: Union[HingeLoss, Mapping[str, Any]]) -> None: ...
    @property
    def recon_loss(self) -> SidReconLoss:
        """semantic ids: error of the reconstruction"""
        ...
    @recon_loss.setter
    def recon_loss(self, value: Union[SidReconLoss, Mapping[str, Any]]) -> None: ...
    @property
    def commitment_loss(self) -> SidCommitmentLoss:
        """semantic ids: distance between codes and encoder"""
        ...
    @commitment_loss.setter
    def commitment_loss(self, value: Union[SidCommitmentLoss, Mapping[str, Any]]) -> None: ...
    @property
    def contrastive_loss(self) -> SidContrastiveLoss:
        """semantic ids: paired items lie near each other"""
        ...
    @contrastive_loss.setter
    def contrastive_loss(self, value: Union[SidContrastiveLoss, Mapping[str, Any]]) -> None: ...


class SidReconLoss(Message):
    """error of the reconstruction"""
    recon_type: Literal["l2", "l1", "cos"]
    """measure of the error (one of 'l2', 'l1', 'cos')"""


class SidCommitmentLoss(Message):
    """distance between codes and encoder"""
    @property
    def latent_weight(self) -> Repeated[float]:
        """weights of the two directions; empty: 1.0 and 0.5"""
        ...
    @latent_weight.setter
    def latent_weight(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    commitment_type: Literal["l2", "l1", "cos"]
    """measure of the distance (one of 'l2', 'l1', 'cos')"""


class SidContrastiveLoss(Message):
    """paired items lie near each other; needs contrastive_config"""


class BinaryCrossEntropy(Message):
    """cross entropy of one output with a 0/1 label"""
    label_smoothing: float
    """share of the label that is moved towards one half"""


class LogLoss(Message):
    """-y ln(p + epsilon) - (1 - y) ln(1 - p + epsilon)"""
    epsilon: float
    """keeps the logarithm away from 0 (1e-12..0.1)"""
    reduction: Literal["mean", "sum"]
    """over the rows of a batch (one of 'mean', 'sum')"""
    scale: float
    """factor of the loss (1e-09..1000000000)"""


class SoftmaxCrossEntropy(Message):
    """cross entropy of several outputs with a class label"""
    label_smoothing: float
    """share of the label that is spread over all classes"""
    reduction: Literal["mean", "sum"]
    """over the rows of a batch; ours (one of 'mean', 'sum')"""
    scale: float
    """factor of the loss; ours (1e-09..1000000000)"""


class HingeLoss(Message):
    """max(0, margin - the right score + the largest other)"""
    margin: float
    """how far above (0..1000000000)"""


class L2Loss(Message):
    """squared error"""
    sigmoid_scale: float
    """what is predicted is this times the sigmoid of the output; 0: the output; ours (0..1000000000)"""


class JRCLoss(Message):
    """cross entropy together with ranking inside a session"""
    session_name: str
    """id feature whose value names the session (required)"""
    alpha: float
    """share of the cross entropy; the rest is the ranking part"""


class BinaryFocalLoss(Message):
    """cross entropy that gives hard rows more weight"""
    gamma: float
    """how strongly easy rows are discounted; 0: not at all"""
    alpha: float
    """weight of positive rows, above 0 and below 1"""


class AUC(Message):
    """area under the ROC curve from a histogram of scores"""
    thresholds: int
    """histogram bins; take more for rare labels"""


class MulticlassAUC(Message):
    """area under the ROC curve, each class against the rest"""
    thresholds: int
    """histogram bins"""
    average: Literal["macro", "weighted"]
    """mean over classes: all alike, or weighted by their frequency (one of 'macro', 'weighted')"""


class RecallAtK(Message):
    """share of rows whose target is among the k best"""
    top_k: int
    """the k"""


class MeanAbsoluteError(Message):
    """mean of the absolute error; for l2_loss"""


class MeanSquaredError(Message):
    """mean of the squared error; for l2_loss"""


class Accuracy(Message):
    """share of right decisions"""
    threshold: float
    """probability from which a row counts as positive"""
    top_k: int
    """several classes: right when the label is among the k best"""


class GroupedAUC(Message):
    """mean of the exact AUC of each group of rows"""
    grouping_key: str
    """id feature that names the group, such as the user id (required)"""


class XAUC(Message):
    """share of row pairs in the right order, for numeric labels"""
    sample_ratio: float
    """share of all pairs that is sampled, above 0 up to 1"""
    max_pairs: int
    """pairs to sample; 0 or unset: by sample_ratio"""
    in_batch: bool
    """take all pairs inside each batch instead"""


class GroupedXAUC(Message):
    """XAUC of each group, weighted by its size"""
    grouping_key: str
    """id feature that names the group, such as the user id (required)"""
    max_pairs_per_group: int
    """pairs sampled per group at most"""


class NormalizedEntropy(Message):
    """log loss relative to always predicting the mean; below 1 is better than that"""
    eta: float
    """keeps the mean away from 0 and 1"""


class MetricConfig(Message):
    """one metric of the evaluation"""
    @property
    def auc(self) -> AUC:
        """area under the ROC curve"""
        ...
    @auc.setter
    def auc(self, value: Union[AUC, Mapping[str, Any]]) -> None: ...
    @property
    def multiclass_auc(self) -> MulticlassAUC:
        """area under the ROC curve for several classes"""
        ...
    @multiclass_auc.setter
    def multiclass_auc(self, value: Union[MulticlassAUC, Mapping[str, Any]]) -> None: ...
    @property
    def recall_at_k(self) -> RecallAtK:
        """recall among the k best, for match models"""
        ...
    @recall_at_k.setter
    def recall_at_k(self, value: Union[RecallAtK, Mapping[str, Any]]) -> None: ...
    @property
    def mean_absolute_error(self) -> MeanAbsoluteError:
        """mean absolute error"""
        ...
    @mean_absolute_error.setter
    def mean_absolute_error(self, value: Union[MeanAbsoluteError, Mapping[str, Any]]) -> None: ...
    @property
    def mean_squared_error(self) -> MeanSquaredError:
        """mean squared error"""
        ...
    @mean_squared_error.setter
    def mean_squared_error(self, value: Union[MeanSquaredError, Mapping[str, Any]]) -> None: ...
    @property
    def accuracy(self) -> Accuracy:
        """share of right decisions"""
        ...
    @accuracy.setter
    def accuracy(self, value: Union[Accuracy, Mapping[str, Any]]) -> None: ...
    @property
    def grouped_auc(self) -> GroupedAUC:
        """AUC per group"""
        ...
    @grouped_auc.setter
    def grouped_auc(self, value: Union[GroupedAUC, Mapping[str, Any]]) -> None: ...
    @property
    def xauc(self) -> XAUC:
        """share of pairs in the right order"""
        ...
    @xauc.setter
    def xauc(self, value: Union[XAUC, Mapping[str, Any]]) -> None: ...
    @property
    def grouped_xauc(self) -> GroupedXAUC:
        """share of pairs in the right order per group"""
        ...
    @grouped_xauc.setter
    def grouped_xauc(self, value: Union[GroupedXAUC, Mapping[str, Any]]) -> None: ...
    @property
    def normalized_entropy(self) -> NormalizedEntropy:
        """log loss relative to the mean prediction"""
        ...
    @normalized_entropy.setter
    def normalized_entropy(self, value: Union[NormalizedEntropy, Mapping[str, Any]]) -> None: ...


class TrainMetricConfig(Message):
    """one metric shown while training, as a moving average"""
    @property
    def auc(self) -> AUC:
        """area under the ROC curve"""
        ...
    @auc.setter
    def auc(self, value: Union[AUC, Mapping[str, Any]]) -> None: ...
    @property
    def recall_at_k(self) -> RecallAtK:
        """recall among the k best, for match models"""
        ...
    @recall_at_k.setter
    def recall_at_k(self, value: Union[RecallAtK, Mapping[str, Any]]) -> None: ...
    @property
    def mean_absolute_error(self) -> MeanAbsoluteError:
        """mean absolute error"""
        ...
    @mean_absolute_error.setter
    def mean_absolute_error(self, value: Union[MeanAbsoluteError, Mapping[str, Any]]) -> None: ...
    @property
    def mean_squared_error(self) -> MeanSquaredError:
        """mean squared error"""
        ...
    @mean_squared_error.setter
    def mean_squared_error(self, value: Union[MeanSquaredError, Mapping[str, Any]]) -> None: ...
    @property
    def accuracy(self) -> Accuracy:
        """share of right decisions"""
        ...
    @accuracy.setter
    def accuracy(self, value: Union[Accuracy, Mapping[str, Any]]) -> None: ...
    @property
    def xauc(self) -> XAUC:
        """share of pairs in the right order"""
        ...
    @xauc.setter
    def xauc(self, value: Union[XAUC, Mapping[str, Any]]) -> None: ...
    decay_rate: float
    """weight of the old value in each refresh"""
    decay_step: int
    """batches between two refreshes"""


class WideAndDeep(Message):
    """linear part beside a deep net; groups wide and deep"""
    @property
    def deep(self) -> MLP:
        """net on the group deep (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on both parts; unset: they are added"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_embedding_dim: int
    """width of the wide tables; all their values are added up"""
    wide_init_fn: str
    """initial values of the wide tables, such as "nn.init.uniform_,a=-0.01,b=0.01"""


class DeepFM(Message):
    """linear part, factorisation machine and deep net; groups wide, deep and perhaps fm"""
    @property
    def deep(self) -> MLP:
        """net on the group deep (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on the parts; unset: they are added"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_embedding_dim: int
    """width of the wide tables; all their values are added up"""
    wide_init_fn: str
    """initial values of the wide tables, such as "nn.init.uniform_,a=-0.01,b=0.01"""


class MultiTower(Message):
    """one net per feature group, joined at the end"""
    @property
    def towers(self) -> Repeated[Tower]:
        """the nets; each needs a group of its own"""
        ...
    @towers.setter
    def towers(self, value: Union[Repeated[Tower], Sequence[Union[Tower, Mapping[str, Any]]]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on the joined outputs; unset: none (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class MultiTowerDIN(Message):
    """multi_tower with attention over behaviour sequences"""
    @property
    def towers(self) -> Repeated[Tower]:
        """nets on DEEP groups"""
        ...
    @towers.setter
    def towers(self, value: Union[Repeated[Tower], Sequence[Union[Tower, Mapping[str, Any]]]]) -> None: ...
    @property
    def din_towers(self) -> Repeated[DINTower]:
        """attention over SEQUENCE groups"""
        ...
    @din_towers.setter
    def din_towers(self, value: Union[Repeated[DINTower], Sequence[Union[DINTower, Mapping[str, Any]]]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on the joined outputs; unset: none (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class DLRM(Message):
    """dot products of all feature pairs; groups sparse and perhaps dense, or just one"""
    @property
    def dense_mlp(self) -> MLP:
        """net on the group dense; its last width is that of the sparse vectors"""
        ...
    @dense_mlp.setter
    def dense_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    arch_with_sparse: bool
    """the final net sees the sparse vectors as well as their products"""
    @property
    def final(self) -> MLP:
        """net on the interactions (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class MaskNet(Message):
    """instance-wise masks on the first feature group"""
    @property
    def mask_net_module(self) -> MaskNetModule:
        """the blocks; top_mlp is needed (required)"""
        ...
    @mask_net_module.setter
    def mask_net_module(self, value: Union[MaskNetModule, Mapping[str, Any]]) -> None: ...


class DCNV1(Message):
    """cross layers and a deep net side by side on the first feature group"""
    @property
    def cross(self) -> Cross:
        """the cross layers (required)"""
        ...
    @cross.setter
    def cross(self, value: Union[Cross, Mapping[str, Any]]) -> None: ...
    @property
    def deep(self) -> MLP:
        """the deep net (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on both; ours: unset, the output layer reads both and has a bias (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class DCNV2(Message):
    """low-rank cross layers on the first feature group"""
    @property
    def backbone(self) -> MLP:
        """net in front of the cross layers"""
        ...
    @backbone.setter
    def backbone(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def cross(self) -> CrossV2:
        """the cross layers (required)"""
        ...
    @cross.setter
    def cross(self, value: Union[CrossV2, Mapping[str, Any]]) -> None: ...
    @property
    def deep(self) -> MLP:
        """net on the input, beside the cross layers"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on both (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class xDeepFM(Message):
    """compressed interaction network on the group wide, deep net on the group deep"""
    @property
    def cin(self) -> CIN:
        """the interaction layers (required)"""
        ...
    @cin.setter
    def cin(self, value: Union[CIN, Mapping[str, Any]]) -> None: ...
    @property
    def deep(self) -> MLP:
        """the deep net (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on both; ours: unset with share_fields (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_embedding_dim: int
    """width of the wide tables"""
    wide_init_fn: str
    """initial values of the wide tables, such as "nn.init.uniform_,a=-0.01,b=0.01"""
    share_fields: bool
    """ours: the interaction reads the vectors of the group deep and has no bias; the group wide holds weights that are added to the output"""


class WuKong(Message):
    """stacked factorisation machines; groups as for dlrm"""
    @property
    def dense_mlp(self) -> MLP:
        """net on the group dense; its last width is that of the sparse vectors"""
        ...
    @dense_mlp.setter
    def dense_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def wukong_layers(self) -> Repeated[WuKongLayer]:
        """the layers"""
        ...
    @wukong_layers.setter
    def wukong_layers(self, value: Union[Repeated[WuKongLayer], Sequence[Union[WuKongLayer, Mapping[str, Any]]]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on the last layer (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class LogisticRegression(Message):
    """one weight per id, added up; group wide, perhaps dense"""
    wide_init_fn: str
    """initial values of the weights, such as "nn.init.normal_,std=0.1"""


class FM(Message):
    """factorisation machine; groups deep, perhaps wide and dense"""
    wide_init_fn: str
    """initial values of the weights of first order"""


class FNN(Message):
    """net on vectors and weights that a factorisation machine may have learnt; groups deep and wide, perhaps dense"""
    @property
    def deep(self) -> MLP:
        """the net (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class NFM(Message):
    """net on the products of all fields added up; groups deep, perhaps wide and dense"""
    @property
    def deep(self) -> MLP:
        """net on the products (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class PNN(Message):
    """net on linear signals and products of fields; groups deep, perhaps wide and dense"""
    product_units: int
    """signals of each kind (1..1048576)"""
    use_inner_product: bool
    """squared lengths of weighted sums of fields; false: outer products of their sum"""
    @property
    def deep(self) -> MLP:
        """net on the signals (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class FFM(Message):
    """fields hold a vector for each other field; groups deep (embedding_dim: a multiple of the number of fields), perhaps wide and dense"""
    wide_init_fn: str
    """initial values of the weights of first order"""


class AFM(Message):
    """products of all pairs of fields, mixed by attention; groups deep, perhaps wide and dense"""
    attention_units: int
    """width of the attention net (1..1048576)"""
    wide_init_fn: str
    """initial values of the weights of first order"""


class FwFM(Message):
    """factorisation machine with a weight for each pair of fields; groups deep, perhaps wide and dense"""
    wide_init_fn: str
    """initial values of the weights of first order"""


class FiBiNET(Message):
    """bilinear products of all pairs of fields, raw and gated; groups deep, perhaps wide and dense"""
    reduction_ratio: int
    """fields per unit of the net that makes the gates (1..1048576)"""
    bilinear_type: Literal["interaction", "each", "all"]
    """a matrix for each pair, for each field, or for all (one of 'interaction', 'each', 'all')"""
    @property
    def deep(self) -> MLP:
        """net on the products and the numbers (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class FGCNN(Message):
    """convolutions along the fields make new ones, products of all pairs of old and new; groups deep, perhaps generate (the fields in other tables, for the convolutions), wide and dense"""
    @property
    def conv_filters(self) -> Repeated[int]:
        """maps that each layer makes; unset: 38, 40, 42, 44 (1..65536)"""
        ...
    @conv_filters.setter
    def conv_filters(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    conv_height: int
    """fields that a convolution looks at (1..4096)"""
    pooling_height: int
    """fields of which the largest goes on; each layer has so many times fewer (2..4096)"""
    new_maps: int
    """new fields per field that is left behind a layer (1..65536)"""
    use_bn: bool
    """batch norm behind each convolution"""
    @property
    def deep(self) -> MLP:
        """net on vectors, products and numbers (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class AutoInt(Message):
    """fields attend to each other; groups deep, perhaps wide and dense"""
    num_layers: int
    """layers of attention (1..64)"""
    num_heads: int
    """heads of each layer (1..1024)"""
    head_dim: int
    """width of a head (1..65536)"""
    @property
    def deep(self) -> MLP:
        """net beside the attention, on vectors and numbers; needed when there is a group dense"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class GateNet(Message):
    """net whose fields and layers are gated; groups deep, perhaps wide and dense"""
    use_embedding_gate: bool
    """each field is multiplied by a number that it makes itself"""
    use_hidden_gate: bool
    """each layer is multiplied by what it makes itself"""
    @property
    def deep(self) -> MLP:
        """the net (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class FLEN(Message):
    """products within and between groups of fields; two or more DEEP groups, perhaps wide and dense"""
    @property
    def interaction(self) -> MLP:
        """net on the products; unset: none"""
        ...
    @interaction.setter
    def interaction(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def deep(self) -> MLP:
        """net on the vectors and the numbers (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class DeepCrossing(Message):
    """residual units on vectors and weights; groups deep, perhaps wide and dense"""
    @property
    def residual_units(self) -> Repeated[int]:
        """hidden width of each unit (1..1048576)"""
        ...
    @residual_units.setter
    def residual_units(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class BST(Message):
    """the item and the history attend to each other; groups seq (as many and as wide features of the item as of the history), perhaps deep, wide and dense"""
    num_layers: int
    """layers of attention and net (1..64)"""
    num_heads: int
    """heads of each layer (1..1024)"""
    head_dim: int
    """width of a head (1..65536)"""
    ffn_units: int
    """width of the net of each layer (1..1048576)"""
    use_ln: bool
    """layer norm before attention and net"""
    @property
    def deep(self) -> MLP:
        """net on the sum of all positions and on the group deep (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class DIEN(Message):
    """interests that evolve along the history; groups seq (behind the history's features perhaps as many that did not happen), perhaps deep, wide and dense"""
    gru_layers: int
    """recurrent layers that extract interests; 0: the history itself is what the item attends to (0..16)"""
    @property
    def attn_mlp(self) -> MLP:
        """net of the attention of the item to the interests (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    evolution: Literal["AIGRU", "AUGRU", "DIN"]
    """attention scales what the last layer reads, or how much it updates; DIN: it weighs the interests, whose sum goes through a linear layer (one of 'AIGRU', 'AUGRU', 'DIN')"""
    aux_loss_weight: float
    """of the loss on what happens next; used when the group holds what did not"""
    @property
    def deep(self) -> MLP:
        """net on the last interest, the item and the group deep (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class DMR(Message):
    """how close the item is to the user and to the history; groups seq (the item; the history, and behind it what each position says of itself), match (the item and the history in other tables, behind them what did not happen), perhaps deep, wide and dense"""
    @property
    def attn_mlp(self) -> MLP:
        """net of both attentions (required)"""
        ...
    @attn_mlp.setter
    def attn_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    aux_loss_weight: float
    """of the loss on what the user did last; used when the group match holds what did not happen"""
    @property
    def deep(self) -> MLP:
        """net on all (required)"""
        ...
    @deep.setter
    def deep(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    wide_init_fn: str
    """initial values of the weights of first order"""


class SimpleMultiTask(Message):
    """one net per task on the first feature group"""
    @property
    def task_towers(self) -> Repeated[TaskTower]:
        """the tasks"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[TaskTower], Sequence[Union[TaskTower, Mapping[str, Any]]]]) -> None: ...


class ShareBottom(Message):
    """one net below the nets of all tasks, on the first feature group"""
    @property
    def bottom_mlp(self) -> MLP:
        """the net that all tasks share"""
        ...
    @bottom_mlp.setter
    def bottom_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def task_towers(self) -> Repeated[TaskTower]:
        """the tasks"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[TaskTower], Sequence[Union[TaskTower, Mapping[str, Any]]]]) -> None: ...


class ESMM(Message):
    """clicks and conversions, both learnt from all rows"""
    @property
    def bottom_mlp(self) -> MLP:
        """net that both tasks share; unset: none"""
        ...
    @bottom_mlp.setter
    def bottom_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def ctr_tower(self) -> TaskTower:
        """the task of clicks (required)"""
        ...
    @ctr_tower.setter
    def ctr_tower(self, value: Union[TaskTower, Mapping[str, Any]]) -> None: ...
    @property
    def cvr_tower(self) -> TaskTower:
        """the task of conversions; its label is 1 when a row was clicked and converted, its losses and metrics are those of the product of both probabilities (required)"""
        ...
    @cvr_tower.setter
    def cvr_tower(self, value: Union[TaskTower, Mapping[str, Any]]) -> None: ...
    ctcvr_name: str
    """name of the product; ends the names of its outputs, losses and metrics"""


class MMoE(Message):
    """tasks that mix shared experts through gates"""
    @property
    def expert_mlp(self) -> MLP:
        """net of an expert (required)"""
        ...
    @expert_mlp.setter
    def expert_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def gate_mlp(self) -> MLP:
        """net in front of each gate"""
        ...
    @gate_mlp.setter
    def gate_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    num_expert: int
    """number of experts (required; at least 1)"""
    @property
    def task_towers(self) -> Repeated[TaskTower]:
        """the tasks"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[TaskTower], Sequence[Union[TaskTower, Mapping[str, Any]]]]) -> None: ...


class DBMTL(Message):
    """tasks where later ones see earlier ones"""
    @property
    def mask_net(self) -> MaskNetModule:
        """mask blocks on the input"""
        ...
    @mask_net.setter
    def mask_net(self, value: Union[MaskNetModule, Mapping[str, Any]]) -> None: ...
    @property
    def bottom_mlp(self) -> MLP:
        """net that all tasks share"""
        ...
    @bottom_mlp.setter
    def bottom_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def expert_mlp(self) -> MLP:
        """net of an expert; unset: no experts"""
        ...
    @expert_mlp.setter
    def expert_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def gate_mlp(self) -> MLP:
        """net in front of each gate"""
        ...
    @gate_mlp.setter
    def gate_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    num_expert: int
    """number of experts; used with expert_mlp"""
    @property
    def task_towers(self) -> Repeated[BayesTaskTower]:
        """the tasks, earlier ones first"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[BayesTaskTower], Sequence[Union[BayesTaskTower, Mapping[str, Any]]]]) -> None: ...


class DC2VR(Message):
    """tasks that are shifted by earlier ones"""
    @property
    def bottom_mlp(self) -> MLP:
        """net that all tasks share"""
        ...
    @bottom_mlp.setter
    def bottom_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def expert_mlp(self) -> MLP:
        """net of an expert; unset: no experts"""
        ...
    @expert_mlp.setter
    def expert_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def gate_mlp(self) -> MLP:
        """net in front of each gate"""
        ...
    @gate_mlp.setter
    def gate_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    num_expert: int
    """number of experts; used with expert_mlp"""
    @property
    def task_towers(self) -> Repeated[InterventionTaskTower]:
        """the tasks, earlier ones first"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[InterventionTaskTower], Sequence[Union[InterventionTaskTower, Mapping[str, Any]]]]) -> None: ...


class PLE(Message):
    """layers of shared and private experts"""
    @property
    def extraction_networks(self) -> Repeated[ExtractionNetwork]:
        """the layers"""
        ...
    @extraction_networks.setter
    def extraction_networks(self, value: Union[Repeated[ExtractionNetwork], Sequence[Union[ExtractionNetwork, Mapping[str, Any]]]]) -> None: ...
    @property
    def task_towers(self) -> Repeated[TaskTower]:
        """the tasks"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[TaskTower], Sequence[Union[TaskTower, Mapping[str, Any]]]]) -> None: ...


class DlrmHSTU(Message):
    """ranks each candidate given the user's history"""
    @property
    def hstu(self) -> HSTU:
        """the sequence model (required)"""
        ...
    @hstu.setter
    def hstu(self, value: Union[HSTU, Mapping[str, Any]]) -> None: ...
    @property
    def fusion_mtl_tower(self) -> FusionMTLTower:
        """the tasks (required)"""
        ...
    @fusion_mtl_tower.setter
    def fusion_mtl_tower(self, value: Union[FusionMTLTower, Mapping[str, Any]]) -> None: ...
    max_seq_len: int
    """longest sequence of tokens (required)"""
    item_embedding_hidden_dim: int
    """hidden width of the candidates' net"""
    enable_global_average_loss: bool
    """average over all candidates of all processes, not per process"""
    sequence_timestamp_is_ascending: bool
    """sequences run from old to new; false: from new to old"""
    concat_contextual_features: bool
    """context features form one token instead of one each"""


class UltraHSTU(Message):
    """ranks each candidate given several histories"""
    @property
    def hstu(self) -> Repeated[HSTU]:
        """one sequence model per history; several need names"""
        ...
    @hstu.setter
    def hstu(self, value: Union[Repeated[HSTU], Sequence[Union[HSTU, Mapping[str, Any]]]]) -> None: ...
    @property
    def fusion_mtl_tower(self) -> FusionMTLTower:
        """the tasks (required)"""
        ...
    @fusion_mtl_tower.setter
    def fusion_mtl_tower(self, value: Union[FusionMTLTower, Mapping[str, Any]]) -> None: ...
    max_seq_len: int
    """longest sequence of tokens (required)"""
    item_embedding_hidden_dim: int
    """hidden width of the candidates' net"""
    enable_global_average_loss: bool
    """average over all candidates of all processes, not per process"""
    sequence_timestamp_is_ascending: bool
    """sequences run from old to new; false: from new to old"""
    concat_contextual_features: bool
    """context features form one token instead of one each"""


class PEPNet(Message):
    """tasks and domains with personalised gates; groups all, and perhaps domain and uia"""
    epnet_hidden_unit: int
    """hidden width of the domain gate; unset: that of the group all"""
    epnet_gamma: float
    """largest value of the domain gate"""
    @property
    def ppnet_hidden_units(self) -> Repeated[int]:
        """widths of the personalised layers"""
        ...
    @ppnet_hidden_units.setter
    def ppnet_hidden_units(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    ppnet_activation: str
    """activation of the personalised layers"""
    @property
    def ppnet_dropout_ratio(self) -> Repeated[float]:
        """share of values dropped: none, one for all layers, or one per layer"""
        ...
    @ppnet_dropout_ratio.setter
    def ppnet_dropout_ratio(self, value: Union[Repeated[float], Sequence[float]]) -> None: ...
    ppnet_gamma: float
    """largest value of the personal gates"""
    domain_input_name: str
    """label column with the domain's number; unset: one domain"""
    task_domain_num: int
    """number of domains; used with domain_input_name"""
    @property
    def task_towers(self) -> Repeated[TaskTower]:
        """the tasks"""
        ...
    @task_towers.setter
    def task_towers(self, value: Union[Repeated[TaskTower], Sequence[Union[TaskTower, Mapping[str, Any]]]]) -> None: ...


class DSSM(Message):
    """user and item towers for retrieval, each with its own tables"""
    @property
    def user_tower(self) -> Tower:
        """net on the user group (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    @property
    def item_tower(self) -> Tower:
        """net on the item group (required)"""
        ...
    @item_tower.setter
    def item_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    output_dim: int
    """width of the vectors; 0 or below: that of the towers' last layer (required)"""
    similarity: Similarity
    """how user and item are compared"""
    temperature: float
    """similarities are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""


class DSSMV2(Message):
    """user and item towers that share tables of the same name"""
    @property
    def user_tower(self) -> Tower:
        """net on the user group (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    @property
    def item_tower(self) -> Tower:
        """net on the item group (required)"""
        ...
    @item_tower.setter
    def item_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    output_dim: int
    """width of the vectors; 0 or below: that of the towers' last layer (required)"""
    similarity: Similarity
    """how user and item are compared"""
    temperature: float
    """similarities are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""


class HSTUMatch(Message):
    """retrieval with an HSTU user tower"""
    @property
    def user_tower(self) -> HSTUUserTower:
        """sequence model of the user (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[HSTUUserTower, Mapping[str, Any]]) -> None: ...
    @property
    def item_tower(self) -> Tower:
        """net on the candidates; its mlp may be left out (required)"""
        ...
    @item_tower.setter
    def item_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    output_dim: int
    """width of the vectors; 0 or below: as the towers give them"""
    similarity: Similarity
    """how user and item are compared"""
    temperature: float
    """similarities are divided by this"""
    in_batch_negative: bool
    """must stay false: negatives come from a sampler"""
    sequence_timestamp_is_ascending: bool
    """sequences run from old to new; false: from new to old"""


class TDM(Message):
    """scores the nodes of an item tree"""
    @property
    def multiwindow_din(self) -> MultiWindowDINTower:
        """attention over the history (required)"""
        ...
    @multiwindow_din.setter
    def multiwindow_din(self, value: Union[MultiWindowDINTower, Mapping[str, Any]]) -> None: ...
    @property
    def final(self) -> MLP:
        """net on attention and the other groups (required)"""
        ...
    @final.setter
    def final(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class DAT(Message):
    """two towers with augment vectors that imitate the other side"""
    @property
    def user_tower(self) -> DATTower:
        """net on the user groups (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[DATTower, Mapping[str, Any]]) -> None: ...
    @property
    def item_tower(self) -> DATTower:
        """net on the item groups (required)"""
        ...
    @item_tower.setter
    def item_tower(self, value: Union[DATTower, Mapping[str, Any]]) -> None: ...
    output_dim: int
    """width of the vectors; 0 or below: that of the towers' last layer (required)"""
    similarity: Similarity
    """how user and item are compared"""
    temperature: float
    """similarities are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""
    amm_i_weight: float
    """weight of the item side's imitation loss (required)"""
    amm_u_weight: float
    """weight of the user side's imitation loss (required)"""


class MIND(Message):
    """several interest vectors per user"""
    @property
    def user_tower(self) -> MINDUserTower:
        """user side with the interests (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[MINDUserTower, Mapping[str, Any]]) -> None: ...
    @property
    def item_tower(self) -> Tower:
        """net on the item group (required)"""
        ...
    @item_tower.setter
    def item_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    simi_pow: float
    """how strongly training picks the interest nearest to the item"""
    similarity: Similarity
    """how user and item are compared"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""
    temperature: float
    """similarities are divided by this"""
    output_dim: int
    """width of the vectors; 0 or below: that of the towers' last layer (required)"""


class YoutubeDNN(Message):
    """a net on the user against a vector per item (ours)"""
    @property
    def user_tower(self) -> Tower:
        """net on the user group; its last layer is the user's vector (required)"""
        ...
    @user_tower.setter
    def user_tower(self, value: Union[Tower, Mapping[str, Any]]) -> None: ...
    item_input: str
    """feature group whose vector is the item's; unset: items are classes, num_class of them"""
    item_bias: bool
    """each item also has a number that is added to its scores"""
    temperature: float
    """scores are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""


class GRU4Rec(Message):
    """recurrent units over a session (ours)"""
    input: str
    """feature group of type SEQUENCE: the session so far (required)"""
    @property
    def hidden_units(self) -> Repeated[int]:
        """width of each recurrent layer"""
        ...
    @hidden_units.setter
    def hidden_units(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    dropout_ratio: float
    """dropout behind each layer"""
    item_input: str
    """feature group whose vector is the item's; unset: items are classes, num_class of them"""
    item_bias: bool
    """each item also has a number that is added to its scores"""
    share_tables: bool
    """tables of the same name are the same for session and item"""
    temperature: float
    """scores are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""
    every_step: bool
    """each position of the session has a label, a list of as many classes; without item_input"""


class NCF(Message):
    """a product of user and item vectors beside a net on both (ours)"""
    user_mf: str
    """feature group of the user for the product; "": no product"""
    item_mf: str
    """feature group of the item for the product, of the same width"""
    user_mlp: str
    """feature group of the user for the net; "": no net"""
    item_mlp: str
    """feature group of the item for the net"""
    @property
    def mlp(self) -> MLP:
        """the net"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class TextTower(Message):
    """an encoder of a sequence, and a net behind it"""
    encoder: Literal["sum", "gru", "cnn"]
    """of a SEQUENCE group, by the largest values of gru and cnn over the sequence; a DEEP group is a vector already (one of 'sum', 'gru', 'cnn')"""
    units: int
    """width of gru (512 at most), filters of cnn (1..65536)"""
    window: int
    """positions that a filter of cnn sees (1..64)"""
    @property
    def mlp(self) -> MLP:
        """net on what was encoded; unset: none"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    output_dim: int
    """a linear layer at the end; 0: none"""


class MatchTowers(Message):
    """a query against candidates of each row, by cosine (ours)"""
    query_input: str
    """feature group of the query (required)"""
    @property
    def candidate_inputs(self) -> Repeated[str]:
        """feature groups of the candidates, num_class of them; tables of one name are shared by all groups"""
        ...
    @candidate_inputs.setter
    def candidate_inputs(self, value: Union[Repeated[str], Sequence[str]]) -> None: ...
    @property
    def query_tower(self) -> TextTower:
        """tower of the query (required)"""
        ...
    @query_tower.setter
    def query_tower(self, value: Union[TextTower, Mapping[str, Any]]) -> None: ...
    @property
    def candidate_tower(self) -> TextTower:
        """tower of the candidates (required)"""
        ...
    @candidate_tower.setter
    def candidate_tower(self, value: Union[TextTower, Mapping[str, Any]]) -> None: ...
    share_candidate_tower: bool
    """all candidates go through one tower; false: each through its own"""
    scale: float
    """factor of the cosines"""


class LookAlike(Message):
    """seeds of an audience against a user (ours)"""
    seeds_input: str
    """feature group of type SEQUENCE: the seeds (required)"""
    user_input: str
    """feature group of the user; tables of one name are shared by both (required)"""
    units: int
    """width that seeds and user are brought to (1..4096)"""


class TextCNN(Message):
    """convolutions along a text (ours)"""
    input: str
    """feature group of type SEQUENCE: the text (required)"""
    @property
    def windows(self) -> Repeated[int]:
        """how many positions the filters of each convolution see (1..64)"""
        ...
    @windows.setter
    def windows(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    filters: int
    """filters of each convolution (1..65536)"""
    activation: str
    """of the convolutions"""
    @property
    def mlp(self) -> MLP:
        """net on the largest value of each filter; unset: none"""
        ...
    @mlp.setter
    def mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...


class Word2Vec(Message):
    """skip-gram with negative sampling (ours)"""
    input: str
    """feature group of the word (required)"""
    context_input: str
    """feature group of the word beside it, which the sampler draws others of (required)"""
    context_bias: bool
    """each context word also has a number that is added to its scores"""
    in_batch_negative: bool
    """other rows' context words are the negatives; no sampler is needed"""


class SRGNN(Message):
    """a session as a graph of its items (ours)"""
    input: str
    """feature group of type SEQUENCE: the session so far, node_feature last (required)"""
    node_feature: str
    """raw feature of the group that tells its items apart, such as their number; below 2^24 (required)"""
    steps: int
    """how often neighbours exchange what they know"""
    item_input: str
    """feature group whose vector is the item's; tables of the same name are shared with the session (required)"""
    temperature: float
    """scores are divided by this"""
    in_batch_negative: bool
    """other rows' items are the negatives; no sampler is needed"""


class RocketLaunching(Message):
    """a light net that learns beside, and from, a large one"""
    @property
    def share_mlp(self) -> MLP:
        """net that both share"""
        ...
    @share_mlp.setter
    def share_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def booster_mlp(self) -> MLP:
        """the large net, used in training only (required)"""
        ...
    @booster_mlp.setter
    def booster_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    @property
    def light_mlp(self) -> MLP:
        """the light net (required)"""
        ...
    @light_mlp.setter
    def light_mlp(self, value: Union[MLP, Mapping[str, Any]]) -> None: ...
    feature_based_distillation: bool
    """layers of equal width are drawn together as well"""
    feature_distillation_function: Similarity
    """how layers are compared; anything but COSINE is a distance"""


class FaissKmeansConfig(Message):
    """settings of the k-means of each layer"""
    niter: int
    """iterations; unset: 25"""
    nredo: int
    """runs of which the best is kept; unset: 1"""
    seed: int
    """seed of the first centres; unset: 1234"""
    max_points_per_centroid: int
    """points used per centre at most; unset: 256"""
    min_points_per_centroid: int
    """fewer points per centre than this bring a warning elsewhere (without effect: fewer rows than codes are an error, and others are not warned of)"""
    spherical: bool
    """centres are scaled to length 1; unset: false"""
    verbose: bool
    """report each iteration elsewhere (without effect: evaluations show how good the codes are)"""


class SinkhornConfig(Message):
    """balanced use of the codes in training"""
    iters: int
    """rounds of balancing"""
    epsilon: float
    """sharpness of the assignment"""
    enabled: bool
    """false: each row takes its nearest code"""


class ContrastiveConfig(Message):
    """paired items whose codes should be alike"""
    pair_feature_group: str
    """feature group of the paired item (required)"""
    pair_flag_feature_group: str
    """feature group that says whether a row has a pair (required)"""


class SidCandidateOutputConfig(Message):
    """further code sequences per item"""
    enabled: bool
    """output them"""
    topk: int
    """code sequences per item"""
    strategy: Literal["last_layer_knn"]
    """how they are found: nearest codes of the last layer (one of 'last_layer_knn')"""


class SidRqvae(Message):
    """semantic ids through a residual quantised auto-encoder"""
    embed_dim: int
    """width of the codes (at least 1)"""
    @property
    def hidden_dims(self) -> Repeated[int]:
        """widths of the encoder, mirrored in the decoder; empty: half the input (at least 1)"""
        ...
    @hidden_dims.setter
    def hidden_dims(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    @property
    def codebook(self) -> Repeated[int]:
        """codes per layer, such as [256, 256, 256] (at least 1)"""
        ...
    @codebook.setter
    def codebook(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    forward_mode: Literal["ste", "gumbel_softmax"]
    """how gradients pass the choice of a code (one of 'ste', 'gumbel_softmax')"""
    normalize_residuals: bool
    """scale what is left to length 1 before each layer"""
    distance_type: Literal["l2", "cosine"]
    """how codes are compared (one of 'l2', 'cosine')"""
    rotation_trick: bool
    """pass gradients through a rotation onto the code"""
    kmeans_init: bool
    """first codes from k-means of the first batch"""
    restart_unused_steps: int
    """steps without rows after which a code becomes a row of the batch; 0 or unset: never; an extension of Trainyard (0..1048576)"""
    @property
    def sinkhorn_config(self) -> SinkhornConfig:
        """balanced use of the codes; on unless enabled is false"""
        ...
    @sinkhorn_config.setter
    def sinkhorn_config(self, value: Union[SinkhornConfig, Mapping[str, Any]]) -> None: ...
    @property
    def contrastive_config(self) -> ContrastiveConfig:
        """paired items; on when the message is present"""
        ...
    @contrastive_config.setter
    def contrastive_config(self, value: Union[ContrastiveConfig, Mapping[str, Any]]) -> None: ...
    @property
    def candidate_output_config(self) -> SidCandidateOutputConfig:
        """further code sequences per item"""
        ...
    @candidate_output_config.setter
    def candidate_output_config(self, value: Union[SidCandidateOutputConfig, Mapping[str, Any]]) -> None: ...


class SidRqkmeans(Message):
    """semantic ids through residual k-means"""
    @property
    def codebook(self) -> Repeated[int]:
        """codes per layer, such as [256, 256, 256] (at least 1)"""
        ...
    @codebook.setter
    def codebook(self, value: Union[Repeated[int], Sequence[int]]) -> None: ...
    normalize_residuals: bool
    """scale what is left to length 1 before each layer"""
    @property
    def faiss_kmeans_kwargs(self) -> FaissKmeansConfig:
        """settings of the k-means"""
        ...
    @faiss_kmeans_kwargs.setter
    def faiss_kmeans_kwargs(self, value: Union[FaissKmeansConfig, Mapping[str, Any]]) -> None: ...
    train_sample_size: int
    """rows that are kept for the fit; 0: enough for max_points_per_centroid"""
    @property
    def candidate_output_config(self) -> SidCandidateOutputConfig:
        """further code sequences per item"""
        ...
    @candidate_output_config.setter
    def candidate_output_config(self, value: Union[SidCandidateOutputConfig, Mapping[str, Any]]) -> None: ...
