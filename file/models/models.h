/* SPDX-License-Identifier: MIT */
/*
 * Model families and their input layers, as data: the names of a family's tensors, and the rules that derive a layer
 * from them and a few numbers of the configuration. A family is one entry of the table in models.c; layer.c and terms.c
 * apply its rules and contain nothing specific to a family.
 */
#pragma once

#include "models/settings.h"

/** Names of tensors, without their common prefix. Null: the layer has no such term. Names of optional tensors start
   with ?. For the part "decoder", a leading "encoder." is replaced by "decoder.". */
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
    INLAY_MODEL_SCALE_SQRT,     /**< sqrt(dim), rounded to the output type if that has 16 bits, as in Gemma */
    INLAY_MODEL_SCALE_SQRT_KEY, /**< same, with the key's number, which divides dim */
};

/** The terms that a layer can have after its token rows, and its end. */
enum inlay_model_term {
    INLAY_MODEL_END,
    INLAY_MODEL_SEGMENTS,
    INLAY_MODEL_POSITIONS,
    INLAY_MODEL_NORM,
    INLAY_MODEL_TERMS
};

/** A step between the layer and the first block that inlay doesn't compute: "projection", "norm" and so on. */
struct inlay_model_step {
    const char *what;
    const char *tensor;           /**< the model has the step if it has this tensor, named as above; null: always */
    enum inlay_model_term before; /**< the step precedes this term, so this term and all later ones remain too */
};

/** A family of models. Zero is the default of most families. */
struct inlay_model {
    const char *name;
    const char *part;                      /**< of inlay_file_layer_options, or null */
    const char *const *types;              /**< values of config.model_type, ended by null; null: the name alone */
    const char *const *architectures;      /**< values of general.architecture, ended by null; null: no GGUF files */
    const char *const *prefixes;           /**< of the names of tensors, ended by null; null: "NAME." and none */
    const struct inlay_model_names *names; /**< sets of names, ended by one without tokens */
    const char *dim;                       /**< the key of the columns of the token table; null: "hidden_size" */
    int start;                             /**< the first position */
    struct inlay_key types_key;            /**< number of segments; 0: none. No key: the rows of the tensor */
    bool after_padding;                    /**< the first position is the padding id + 1 */
    bool padding_aware;                    /**< positions don't count padding */
    struct inlay_key padding;              /**< the padding id, if one of these needs it */
    inlay_zero_rows zero_rows;             /**< terms added to the zero row of padding */
    inlay_recipe recipe;                   /**< of sinusoids if no tensor has the positions; 0: none */
    struct inlay_key sinusoid;             /**< flag of sinusoids; no key: always */
    inlay_norm norm;
    struct inlay_key epsilon; /**< of the norm */
    enum inlay_model_scale scale;
    struct inlay_key scale_key;
    struct inlay_key demanded; /**< the layer is known only with this value of a flag; no key: always */
    inlay_pooling pooling;
    struct inlay_key normalize;                   /**< flag: scale pooled rows to length 1 */
    const struct inlay_model_step *remaining_ops; /**< in order, ended by one without a name; null: none */
    const char *unrelated;                        /**< a tensor that belongs to the output despite its name, or null */
    bool has_decoder;                             /**< the family has a part "decoder" */
    bool positions_first;                         /**< positions are added before segments */
    bool first_for_bad_ids;                       /**< ids outside the table take row 0 */
    bool any_dim;                                 /**< no key of config.json gives the columns of the token table */
    bool detected_by_tensors;                     /**< names of tensors identify the family */
};

/** A family that was found in a file. */
struct inlay_found_model {
    const struct inlay_model *model;
    const char *detected_by;               /**< source of the family's name */
    const char *part;                      /**< of the options */
    const char *assumed_by;                /**< key that an assumption is based on, or null */
    bool is_part;                          /**< the family is the text model of an unknown model */
    const char *other_key;                 /**< key that names another family than the options, or null */
    const struct inlay_model *other;       /**< that family, or null */
    const struct inlay_model_names *names; /**< the set of names that the file has */
    const char *outer;                     /**< [outer_size], the first part of all names of the layer's tensors */
    int outer_size;
    bool is_prefix_given;          /**< `outer` is the caller's; otherwise all names of the file share it */
    bool is_other_object;          /**< settings are in an object of config.json that the type does not account for */
    const char *const *first;      /**< prefixes that follow it in a multimodal type, ended by null; null: none */
    const char *const *given_rows; /**< text model types compared with embeddings as input; null: all */
    const char *whole;             /**< the one of these that the file has; or empty */
    const char *prefix;            /**< of the names of tensors; a star is replaced by the family's name */
    const inlay_file_tensor *head; /**< output head that is also the token table; null: the table has its own name */
    struct inlay_settings settings;
};

/** The part of encoder-decoder models that embeds the generated tokens. */
#define INLAY_MODEL_DECODER "decoder"

/** Maximum size of a tensor's name with its prefix, null-terminated. */
enum { INLAY_MODEL_NAME_ROOM = 128 };

/**
 * Finds the family of a model: by its name if that is given, else by config.json, by the metadata of GGUF, or by names
 * of tensors, if only one family has them.
 */
bool inlay_model_find(inlay_file *file, const inlay_file_layer_options *options, struct inlay_found_model *found,
                      inlay_file_error *error);

/** Returns the family with a name and a part, or null. */
const struct inlay_model *inlay_model_from_name(const char *name, const char *part);

/** Sets the prefix of the file: the caller's, or if that is null, the wrappers' that all names share. */
bool inlay_model_set_prefix(struct inlay_found_model *found, const char *prefix);

/** Finds the names of the family that the file has. Returns true if all required ones are there; found->names is null
    without a token table. */
bool inlay_model_find_names(struct inlay_found_model *found);

/** Checks that only one prefix of the family follows the caller's, and that no tensor of the layer has another. */
bool inlay_model_check_prefix(const struct inlay_found_model *found);

/** Writes the first name of the token table of a family that the file lacks. */
void inlay_model_usual_name(struct inlay_found_model *found, char full[INLAY_MODEL_NAME_ROOM]);

/** Maximum size of a list of prefixes, null-terminated. */
enum { INLAY_MODEL_LIST_ROOM = 224 };

/** Writes the end of a message about a missing token table: the prefixes of tensors that end in its name, or "" if
   there are none. */
void inlay_model_list_prefixes(const struct inlay_found_model *found, char list[INLAY_MODEL_LIST_ROOM]);

/** Writes the names of the family's token table to list [room], or the first ones and "...". */
void inlay_model_list_names(const struct inlay_found_model *found, size_t room, char *list);

/** Reports that the token table is missing under `name` and others, with this list. Returns false. */
bool inlay_model_fail_names(const struct inlay_found_model *found, const char *name);

/** Returns the tensor with a name of found->names, or null, and writes its full name, unless the name is null. */
const inlay_file_tensor *inlay_model_tensor(const struct inlay_found_model *found, const char *name,
                                            char full[INLAY_MODEL_NAME_ROOM]);

/** Takes lm_head.weight as the token table of a model without one, if config.json ties the two and no other tensor
    may be part of either or has the same shape. Returns false if it is not taken. */
bool inlay_model_find_head(struct inlay_found_model *found);

/** Returns true if a tensor of that name is optional: it is null, or starts with ?. */
bool inlay_model_may_lack(const char *name);

/** Assumes that the token table is the whole layer of an unknown model. The configuration must name rotary or relative
    positions and no other part of an input layer; otherwise reports INLAY_FILE_ERROR_MODEL. `stated` is the value that
    names the model. */
bool inlay_model_assume(const inlay_file_value *stated, struct inlay_found_model *found);

/** Returns the name of a tensor that may belong to the input layer but that the family doesn't use, or null. */
const char *inlay_model_unused_tensor(const struct inlay_found_model *found);

/** Same, for the key of a setting. */
const char *inlay_model_unused_setting(const struct inlay_found_model *found);
