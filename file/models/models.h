/* SPDX-License-Identifier: MIT */
/*
 * Model families and their input layers, as data: the names of a family's tensors, and the rules that derive a layer
 * from them and a few numbers of the configuration. A family is one entry of the table in models.c; layer.c and terms.c
 * apply its rules and contain nothing specific to a family.
 */
#pragma once

#include "models/settings.h"

/** Names of tensors, without their common prefix. Null: the layer has no such term. A tensor whose name starts with ?
   is optional. For the part "decoder", a leading "encoder." of a name is replaced by "decoder.". */
struct inlay_model_names {
    const char *tokens, *positions, *segments;
    const char *gamma, *beta;      /**< of the norm */
    const char *mapping, *weights; /**< of static embeddings, optional: row and factor of each id */
};

/** How the scale of token rows is found. */
enum inlay_model_scale {
    INLAY_MODEL_SCALE_ONE,      /**< 1 */
    INLAY_MODEL_SCALE_FLAG,     /**< sqrt(dim) if the key is true, else 1 */
    INLAY_MODEL_SCALE_NUMBER,   /**< the number of the key */
    INLAY_MODEL_SCALE_SQRT,     /**< sqrt(dim), in the type of the table if that is a 16-bit one, as Gemma has it */
    INLAY_MODEL_SCALE_SQRT_KEY, /**< same, with the square root of the key's number, which divides dim */
};

/** The terms that a layer can have after its token rows, and its end. */
enum inlay_model_term {
    INLAY_MODEL_END,
    INLAY_MODEL_SEGMENTS,
    INLAY_MODEL_POSITIONS,
    INLAY_MODEL_NORM,
    INLAY_MODEL_TERMS
};

/** A step of the model between its layer and its first block that inlay doesn't do: "projection", "norm" and so on. */
struct inlay_model_step {
    const char *what;
    const char *tensor;           /**< the step is there if this tensor is; null: always. A name as those above */
    enum inlay_model_term before; /**< it comes before this term, so that this and all behind it follow too */
};

/** A family of models. Zeros are what most families have. */
struct inlay_model {
    const char *name;
    const char *part;                      /**< of inlay_file_layer_options, or null */
    const char *const *types;              /**< values of config.model_type, ended by null; null: the name alone */
    const char *const *architectures;      /**< values of general.architecture, ended by null; null: no GGUF files */
    const char *const *prefixes;           /**< of the names of tensors, ended by null; null: "NAME." and none */
    const struct inlay_model_names *names; /**< sets of names, ended by one without tokens */
    const char *dim;                       /**< the key of the columns of the token table; null: "hidden_size" */
    int start;                             /**< the first position */
    struct inlay_key types_key;            /**< the rows of segments; 0: there are none. No key: those of the tensor */
    bool after_padding;                    /**< it is the id of padding + 1 */
    bool padding_aware;                    /**< padding has no position of its own */
    struct inlay_key padding;              /**< the id of padding, where one of these asks for it */
    inlay_zero_rows zero_rows;             /**< what is added to the zeros of padding */
    inlay_recipe recipe;                   /**< of sinusoids where no tensor has the positions; 0: none */
    struct inlay_key sinusoid;             /**< the truth value that says whether there are sinusoids; no key: always */
    inlay_norm norm;
    struct inlay_key epsilon; /**< of the norm */
    enum inlay_model_scale scale;
    struct inlay_key scale_key;
    struct inlay_key demanded; /**< a truth value, and the only one with which this is the layer; no key: none */
    inlay_pooling pooling;
    struct inlay_key normalize;                   /**< whether pooled rows are scaled to length 1 */
    const struct inlay_model_step *remaining_ops; /**< in their order, ended by one without a name; null: none */
    bool has_decoder;                             /**< there is a part "decoder" */
    bool positions_first;                         /**< they are added before segments */
    bool first_for_bad_ids;                       /**< ids outside the table take row 0 */
    bool any_dim;                                 /**< no key has the columns of the token table */
    bool detected_by_tensors;                     /**< names of tensors alone tell it */
};

/** A family that was found in a file. */
struct inlay_found_model {
    const struct inlay_model *model;
    const char *detected_by;               /**< what named the family */
    const char *part;                      /**< of the options */
    const char *assumed_by;                /**< the key that an assumption rests on, or null */
    bool is_part;                          /**< it is the text model of a model that is not known */
    const char *other_key;                 /**< the key that names another family than the options do, or null */
    const struct inlay_model *other;       /**< that family, or null */
    const struct inlay_model_names *names; /**< the set of names that the file has */
    const char *prefix;                    /**< of the names of tensors; a star stands for the family's name */
    struct inlay_settings settings;
};

/** The part of encoder-decoder models that embeds what was written so far. */
#define INLAY_MODEL_DECODER "decoder"

/** The longest name of a tensor with its prefix, and the zero behind it. */
enum { INLAY_MODEL_NAME_ROOM = 128 };

/**
 * Finds the family of a model: by its name if that is given, else by config.json, by the metadata of GGUF, or by names
 * of tensors, if only one family has them.
 */
bool inlay_model_find(inlay_file *file, const char *name, const char *part, struct inlay_found_model *found,
                      inlay_file_error *error);

/** Returns the tensor with a name of found->names, or null, and writes its full name, unless the name is null. */
const inlay_file_tensor *inlay_model_tensor(const struct inlay_found_model *found, const char *name,
                                            char full[INLAY_MODEL_NAME_ROOM]);

/** Returns whether a layer can do without the tensor of that name: it is null, or begins with ?. */
bool inlay_model_may_lack(const char *name);

/** Takes the token table that was found, if any, for that of a model of no known family, if the configuration names
    rotary or relative positions and nothing else that an input layer may have; else INLAY_FILE_ERROR_MODEL. `told` is
    the value that names the model. */
bool inlay_model_assume(const inlay_file_value *told, struct inlay_found_model *found);

/** Returns the name of a tensor that may belong to the input layer and that the family has no use for, or null. */
const char *inlay_model_unused_tensor(const struct inlay_found_model *found);

/** Returns the key of such a setting, or null. */
const char *inlay_model_unused_setting(const struct inlay_found_model *found);
