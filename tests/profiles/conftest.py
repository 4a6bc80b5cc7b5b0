from typing import Any

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
}


DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "num_nextn_predict_layers": 1,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "tie_word_embeddings": False,
}


CONFIGS: list[tuple[str, dict[str, Any], float]] = [
    ("llama", LLAMA, 6_738_415_616),
    ("mistral", {**LLAMA, "model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8,
                 "sliding_window": 4096}, 7_241_732_096),
    ("mixtral", {**LLAMA, "model_type": "mixtral", "intermediate_size": 14336, "num_key_value_heads": 8,
                 "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None}, 46_702_792_704),
    ("qwen2", {"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
               "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
               "vocab_size": 152064, "max_position_embeddings": 131072, "sliding_window": 131072,
               "use_sliding_window": False, "tie_word_embeddings": False}, 7_615_616_512),
    ("gemma", {"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576,
               "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16,
               "head_dim": 256, "vocab_size": 256000, "max_position_embeddings": 8192}, 8_537_680_896),
    ("gpt2", {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
              "vocab_size": 50257, "n_inner": None}, 124_439_808),
    ("gpt_neox", {"model_type": "gpt_neox", "hidden_size": 6144, "intermediate_size": 24576,
                  "num_hidden_layers": 44, "num_attention_heads": 64, "vocab_size": 50432,
                  "max_position_embeddings": 2048, "tie_word_embeddings": False}, 20_554_567_680),
    ("gptj", {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "n_positions": 2048,
              "vocab_size": 50400, "tie_word_embeddings": False}, 6_050_882_784),
    ("opt", {"model_type": "opt", "hidden_size": 4096, "ffn_dim": 16384, "num_hidden_layers": 32,
             "num_attention_heads": 32, "vocab_size": 50272, "max_position_embeddings": 2048}, 6_658_473_984),
    ("bloom", {"model_type": "bloom", "n_embed": 4096, "hidden_size": 4096, "n_layer": 30, "n_head": 32,
               "vocab_size": 250880, "seq_length": 2048}, 7_069_016_064),
    ("falcon", {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
                "num_attention_heads": 71, "multi_query": True, "new_decoder_architecture": False,
                "vocab_size": 65024, "bias": False, "alibi": False}, 6_921_720_704),
    ("bert", {"model_type": "bert", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
              "num_attention_heads": 16, "vocab_size": 30522, "max_position_embeddings": 512,
              "type_vocab_size": 2}, 336_226_108),
    ("roberta", {"model_type": "roberta", "hidden_size": 768, "intermediate_size": 3072,
                 "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 50265,
                 "max_position_embeddings": 514, "type_vocab_size": 1}, 124_697_433),
    ("t5", {"model_type": "t5", "d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24,
            "num_decoder_layers": 24, "num_heads": 16, "vocab_size": 32128, "n_positions": 512}, 737_668_096),
    ("t5 gated", {"model_type": "t5", "d_model": 2048, "d_kv": 64, "d_ff": 5120, "num_layers": 24,
                  "num_heads": 32, "vocab_size": 32128, "feed_forward_proj": "gated-gelu",
                  "tie_word_embeddings": False}, 2_849_757_184),
    ("bart", {"model_type": "bart", "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12,
              "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "vocab_size": 50265,
              "max_position_embeddings": 1024}, 406_291_456),
    ("qwen3 mixture", {"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
                       "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
                       "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
                       "num_experts_per_tok": 8, "decoder_sparse_step": 1, "vocab_size": 151936,
                       "max_position_embeddings": 40960, "tie_word_embeddings": False}, 30_532_122_624),
    ("gpt-oss", {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
                 "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
                 "head_dim": 64, "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
                 "layer_types": ["sliding_attention", "full_attention"] * 18, "attention_bias": True,
                 "vocab_size": 201088, "max_position_embeddings": 131072, "tie_word_embeddings": False},
     116_829_156_672),
    ("deepseek", {**DEEPSEEK, "num_nextn_predict_layers": 0}, 671_026_404_352),
    ("llama 4", {"text_config": {"model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192,
                 "intermediate_size_mlp": 16384, "num_hidden_layers": 48, "num_attention_heads": 40,
                 "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 128,
                 "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "vocab_size": 202048,
                 "max_position_embeddings": 1048576, "tie_word_embeddings": False}}, 400_712_000_000),
    ("nemotron", {"model_type": "nemotron", "hidden_size": 18432, "intermediate_size": 73728,
                  "num_hidden_layers": 96, "num_attention_heads": 96, "num_key_value_heads": 8,
                  "hidden_act": "relu2", "vocab_size": 256000, "max_position_embeddings": 4096,
                  "tie_word_embeddings": False}, 341_000_000_000),
    ("nemotron hybrid", {
        "model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 88, "vocab_size": 131072,
        "hybrid_override_pattern": "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*"
                                   "EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME",
        "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 128,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "n_routed_experts": 512,
        "n_shared_experts": 1, "num_experts_per_tok": 22, "moe_latent_size": 1024,
        "moe_intermediate_size": 2688, "intermediate_size": 2688, "moe_shared_expert_intermediate_size": 5376,
        "mtp_hybrid_override_pattern": "*E", "num_nextn_predict_layers": 1,
        "max_position_embeddings": 262144}, 123_611_012_096),
    ("nemotron hybrid by name", {
        "model_type": "nemotron_h", "hidden_size": 4096, "vocab_size": 131072, "mamba_num_heads": 128,
        "layers_block_type": [{"M": "mamba", "-": "mlp", "*": "attention"}[letter] for letter in
                              "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"],
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 21504}, 8_100_852_736),
    ("vit", {"model_type": "vit", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
             "num_attention_heads": 12, "image_size": 224, "patch_size": 16, "num_channels": 3,
             "num_labels": 1000}, 86_567_656),
    ("swin", {"model_type": "swin", "embed_dim": 96, "depths": [2, 2, 6, 2], "num_heads": [3, 6, 12, 24],
              "window_size": 7, "num_labels": 1000}, 28_288_354),
]  # fmt: skip


FVCORE = """| module              | #parameters or shape | #flops   |
|:--------------------|:---------------------|:---------|
| model               | 2.058M               | 0.122G   |
|  conv1              |  9.408K              |  0.118G  |
|   conv1.weight      |   (64, 3, 7, 7)      |          |
|  bn1                |  0.128K              |  1.606M  |
|   bn1.weight        |   (64,)              |          |
|   bn1.bias          |   (64,)              |          |
|  fc                 |  2.049M              |  2.048M  |
|   fc.weight         |   (1000, 2048)       |          |
|   fc.bias           |   (1000,)            |          |
"""


TABLE = """\
name,kind,count,channels_in,channels_out,height,kernel,stride,norm,activation,inner,columns,elements
stem,conv,1,3,64,224,7,2,batch_norm,relu,,,
,depthwise,2,64,,112,3,,,,,,

classes,gemm,1,,,,,,,,2048,1000,
,norm,1,,,,,,,,,,1000
"""


TORCHINFO = """==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
Net                                      [1, 10]                   --
├─Conv2d: 1-1                            [1, 64, 112, 112]         9,408
├─BatchNorm2d: 1-2                       [1, 64, 112, 112]         128
├─ReLU: 1-3                              [1, 64, 112, 112]         --
├─Sequential: 1-4                        [1, 64]                   --
│    └─MaxPool2d: 2-1                    [1, 64, 56, 56]           --
│    └─Linear: 2-2                       [1, 1000]                 2,049,000
==========================================================================================
Total params: 2,058,536
Trainable params: 2,058,536
Total mult-adds (M): 120.06
==========================================================================================
"""
