/* SPDX-License-Identifier: MIT */
/*
 * Resolves a path to files: the file itself, those of an index or a split GGUF model in the same directory, or the
 * model of a directory. A directory with several models is rejected. Directory entries are only names: a file is not
 * examined until it is opened.
 */
#include "model_files.h"

#include "formats/formats.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The kinds of models in a directory, in search order; except that model.safetensors comes first, as in transformers.
 */
static const struct {
    const char *end;
    const char *usual; /* the name that is preferred if there are several, or null */
} kinds[] = {
    {".safetensors.index.json", "model.safetensors.index.json"},
    {".safetensors", "model.safetensors"},
    {".gguf", NULL},
    {".npy", NULL},
    /* Unsupported. */
    {".bin", "pytorch_model.bin"},
    {".pt", NULL},
    {".pth", NULL},
    {".ckpt", NULL},
    {".keras", NULL},
    {".h5", NULL},
    {".npz", NULL},
    {".msgpack", NULL},
    {".onnx", NULL},
};

enum { INDEX, SAFETENSORS, UNREAD = 4, KINDS = sizeof kinds / sizeof *kinds, MAX_PARTS = 1024 };
enum { MAX_CONFIG_BYTES = 16 << 20 };

/* The files of one kind in a directory. */
struct found {
    const char *name;  /* the usual one, else the first; or null */
    const char *other; /* another one, or null */
};

bool inlay_open_noted(struct inlay_catalog *catalog, const char *path, inlay_file_memory memory, size_t most,
                      struct inlay_mapping *mapping)
{
    catalog->path = path;
    static const char pointer[] = "version https://git-lfs.github.com/spec/";
    if (!inlay_mapping_open(path, memory, most, mapping, catalog->error))
        return false;
    const bool is_pointer = mapping->size >= sizeof pointer && memcmp(mapping->bytes, pointer, sizeof pointer - 1) == 0;
    if (is_pointer)
        inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, path, NULL,
                        "it is a Git LFS pointer instead of the file: run git lfs pull");
    if (!is_pointer && inlay_catalog_add_opened(catalog, &mapping->file))
        return true;
    inlay_mapping_close(mapping);
    return false;
}

/* Adds the values of a config.json. */
static bool read_config(struct inlay_catalog *catalog, const char *path)
{
    struct inlay_mapping mapping;
    if (!inlay_open_noted(catalog, path, INLAY_FILE_MEMORY_COPIED, MAX_CONFIG_BYTES, &mapping))
        return false;
    const struct inlay_source source = {path, mapping.bytes, mapping.size};
    const bool is_parsed = inlay_parse_config(catalog, &source);
    inlay_mapping_close(&mapping);
    return is_parsed;
}

/* ---- Models in parts -------------------------------------------------------------------------------------------- */

#define SPLIT_END "-%05zu-of-%05zu%s"

/* The numbers at the end of such a name. */
struct split {
    size_t part, parts;
    size_t prefix; /* bytes before it */
};

/* Returns true if a name with this extension, ".gguf" or ".safetensors", is the name of a part of a model, i.e. ends
   with correctly formatted numbers. */
static bool read_split(const char *name, const char *extension, struct split *split)
{
    char written[64];
    const size_t size = strlen(name), end = sizeof "-00001-of-00003" - 1 + strlen(extension);
    if (size <= end)
        return false;
    split->prefix = size - end;
    name += split->prefix;
    split->part = strtoul(name + sizeof "-" - 1, NULL, 10);
    split->parts = strtoul(name + sizeof "-00001-of-" - 1, NULL, 10);
    snprintf(written, sizeof written, SPLIT_END, split->part, split->parts, extension);
    return strcmp(name, written) == 0 && split->part >= 1 && split->part <= split->parts;
}

/* Sets the paths of a file, or of all parts of a split model. Returns false if allocation fails. */
static bool list_parts(const char *path, const struct split *split, struct inlay_catalog *catalog,
                       struct inlay_model_files *files)
{
    size_t bytes = strlen(path) + 1, parts = split != NULL ? split->parts : 1;
    files->paths = inlay_catalog_memory(catalog, parts * sizeof *files->paths);
    while (files->paths != NULL && files->count < parts) {
        char *part = inlay_catalog_text(catalog, inlay_text_of(path));
        if (part == NULL)
            return false;
        files->paths[files->count++] = part;
        if (split != NULL)
            snprintf(part + split->prefix, bytes - split->prefix, SPLIT_END, files->count, parts, ".gguf");
    }
    return files->paths != NULL;
}

/* ---- Directories ------------------------------------------------------------------------------------------------ */

char *inlay_join_path(struct inlay_catalog *catalog, const char *directory, const char *name)
{
    size_t bytes = strlen(directory) + strlen(name) + 2;
    char *path = inlay_catalog_memory(catalog, bytes);
    if (path != NULL)
        snprintf(path, bytes, "%s%s%s", directory, directory[0] == '\0' || inlay_ends_in(directory, "/") ? "" : "/",
                 name);
    return path;
}

/* Records a file if it can be a model; for a split model, only its first part. Returns false if allocation fails. */
static bool note(struct inlay_catalog *catalog, const char *name, struct found found[KINDS])
{
    struct split split;
    size_t kind = 0;
    while (kind < KINDS && !inlay_ends_in(name, kinds[kind].end))
        kind++;
    if (kind == KINDS || name[0] == '.' || (read_split(name, ".gguf", &split) && split.part != 1))
        return true;
    const char *copy = inlay_catalog_text(catalog, inlay_text_of(name));
    bool usual = kinds[kind].usual != NULL && strcmp(name, kinds[kind].usual) == 0;
    if (found[kind].name == NULL || usual) {
        found[kind].other = usual ? NULL : found[kind].name;
        found[kind].name = copy;
    } else if (kinds[kind].usual == NULL || strcmp(found[kind].name, kinds[kind].usual) != 0)
        found[kind].other = copy;
    return copy != NULL;
}

/* Reads a directory: finds its models and a config.json. */
static bool list(const char *directory, struct inlay_catalog *catalog, struct found found[KINDS], bool *config)
{
    DIR *stream = opendir(directory);
    if (stream == NULL)
        return inlay_file_fail_system(catalog->error, directory, "cannot open it");
    bool memory = true;
    errno = 0; /* distinguishes the end of the directory from an error */
    for (struct dirent *entry; memory && (entry = readdir(stream)) != NULL; errno = 0) {
        memory = note(catalog, entry->d_name, found);
        *config = *config || strcmp(entry->d_name, "config.json") == 0;
    }
    const bool is_read = memory && (errno == 0 || inlay_file_fail_system(catalog->error, directory, "cannot read it"));
    closedir(stream);
    return is_read;
}

/* Returns the model of a directory, or null with an error. */
static const char *find_model(const char *directory, struct inlay_catalog *catalog, const struct found found[KINDS])
{
    struct split split;
    const char *single = found[SAFETENSORS].name;
    size_t kind = single != NULL && strcmp(single, kinds[SAFETENSORS].usual) == 0 ? SAFETENSORS : 0;
    while (kind < KINDS && found[kind].name == NULL)
        kind++;
    if (kind >= UNREAD) {
        const char *name = kind < KINDS ? found[kind].name : NULL;
        inlay_file_fail(catalog->error, INLAY_FILE_ERROR_MISSING, directory, NULL,
                        "the directory has no .safetensors, .gguf or .npy file%s%s%s", name != NULL ? "; " : "",
                        name != NULL ? name : "",
                        name == NULL            ? ""
                        : inlay_is_pickle(name) ? ": " INLAY_PICKLE
                                                : " is not supported: convert it to safetensors");
        return NULL;
    }
    if (kind == SAFETENSORS && read_split(single, kinds[kind].end, &split)) {
        inlay_file_fail(
            catalog->error, INLAY_FILE_ERROR_MISSING, directory, NULL,
            "%s is part %zu of %zu of a model, and its index, %.*s%s, is missing: download it, or open a part", single,
            split.part, split.parts, (int)split.prefix, single, kinds[INDEX].end);
        return NULL;
    }
    if (found[kind].other != NULL) {
        inlay_file_fail(catalog->error, INLAY_FILE_ERROR_KIND, directory, NULL,
                        "the directory has several models, including %s and %s: name one", found[kind].name,
                        found[kind].other);
        return NULL;
    }
    if (kind == SAFETENSORS && found[INDEX].name != NULL)
        catalog->choice = "model.safetensors instead of the index, as in transformers";
    return found[kind].name;
}

/* Chooses the model of a directory. Its config.json can name it, as in transformers. */
static bool choose(const char *directory, struct inlay_catalog *catalog, const char **path)
{
    struct found found[KINDS] = {{NULL, NULL}};
    bool has_config = false;
    if (!list(directory, catalog, found, &has_config))
        return false;
    const char *config = has_config ? inlay_join_path(catalog, directory, "config.json") : NULL;
    if (has_config && (config == NULL || !read_config(catalog, config)))
        return false;
    const inlay_file_value *named = inlay_catalog_last_value(catalog, "config.transformers_weights");
    const char *name = named != NULL && named->kind == INLAY_FILE_VALUE_STRING ? named->text : NULL;
    if (name != NULL && (strchr(name, '/') != NULL || name[0] == '.' || name[0] == '\0'))
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_SYNTAX, config, named->key,
                               "it is not the name of a file in the directory");
    if (name != NULL)
        catalog->choice = "named by config.transformers_weights";
    else
        name = find_model(directory, catalog, found);
    *path = name != NULL ? inlay_join_path(catalog, directory, name) : NULL;
    return *path != NULL;
}

/* Sets *complete to true if a file has all tensors of an index. Returns false if allocation fails. */
static bool look_for_all(const char *path, struct inlay_catalog *catalog, const struct inlay_model_files *files,
                         bool *complete)
{
    inlay_file *file = NULL;
    size_t i = 0;
    if (path == NULL)
        return false;
    if (inlay_file_open(path, NULL, &file, NULL) == INLAY_FILE_ERROR_NO_MEMORY)
        return inlay_file_fail_memory(catalog->error, path);
    while (file != NULL && i < files->entry_count && inlay_file_find_tensor(file, files->entries[i].tensor) != NULL)
        i++;
    *complete = i == files->entry_count;
    inlay_file_close(file);
    return true;
}

bool inlay_find_complete(struct inlay_catalog *catalog, const struct inlay_model_files *files, const char **name)
{
    DIR *stream = opendir(files->directory[0] != '\0' ? files->directory : ".");
    struct split split;
    bool memory = true;
    *name = NULL;
    for (struct dirent *entry; memory && stream != NULL && (entry = readdir(stream)) != NULL;) {
        bool complete = false;
        if (entry->d_name[0] == '.' || !inlay_ends_in(entry->d_name, ".safetensors") ||
            read_split(entry->d_name, ".safetensors", &split) || (*name != NULL && strcmp(entry->d_name, *name) > 0))
            continue;
        memory = look_for_all(inlay_join_path(catalog, files->directory, entry->d_name), catalog, files, &complete);
        if (complete)
            memory = (*name = inlay_catalog_text(catalog, inlay_text_of(entry->d_name))) != NULL;
    }
    if (stream != NULL)
        closedir(stream);
    return memory;
}

bool inlay_find_files(const char *path, struct inlay_catalog *catalog, struct inlay_model_files *files)
{
    struct stat about;
    struct split split;
    *files = (struct inlay_model_files){0};
    path = inlay_catalog_text(catalog, inlay_text_of(path));
    if (path == NULL)
        return false;
    if (stat(path, &about) != 0)
        return inlay_file_fail_system(catalog->error, path, "cannot open it");
    if (S_ISDIR(about.st_mode) && !choose(path, catalog, &path))
        return false;
    if (inlay_ends_in(path, ".index.json")) {
        const char *slash = strrchr(path, '/');
        const struct inlay_text directory = {path, slash != NULL ? (size_t)(slash - path) + 1 : 0};
        files->index = path;
        files->directory = inlay_catalog_text(catalog, directory);
        return files->directory != NULL && inlay_read_index(catalog, files);
    }
    bool parts = read_split(path, ".gguf", &split);
    if (parts && split.parts > MAX_PARTS)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_LIMIT, path, NULL,
                               "its name says that it is one of more than %d parts", MAX_PARTS);
    return list_parts(path, parts ? &split : NULL, catalog, files);
}
