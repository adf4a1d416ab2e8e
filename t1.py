import inlay, numpy as np, safetensors.numpy as sn, tempfile, os, ml_dtypes, json
d=tempfile.mkdtemp(); p=os.path.join(d,'m.safetensors')
rng=np.random.default_rng(0)
t={'wte.weight':rng.standard_normal((100,16)).astype('f4'),'wpe.weight':rng.standard_normal((20,16)).astype('f4'),'b':rng.standard_normal((3,4)).astype(ml_dtypes.bfloat16)}
sn.save_file(t,p,metadata={'a':'b'})
f=inlay.open(p); print(f, f.tensors, list(f.tensors), dict(f.metadata), f.tensors['b'])
for k in t: assert (np.asarray(f.tensors[k])==t[k]).all()
tb=f.table('wte.weight'); print(tb, tb.scale, tb.data, tb.nbytes)
print(inlay.Layer(tb)([1,2]).shape)
l=f.layer('gpt2'); print(l, l.report, l.start)
ids=np.arange(10).reshape(2,5)
assert (l(ids)==t['wte.weight'][ids]+t['wpe.weight'][:5]).all()
f.close(); print(f); assert (l(ids)==t['wte.weight'][ids]+t['wpe.weight'][:5]).all()
for fn in (lambda: f.tensors['x'], lambda: inlay.open(d+'/none'), lambda: inlay.open('/etc/passwd'), lambda: inlay.open(p).table('x'), lambda: inlay.open(p).tensors['x'], lambda: inlay.open(p).layer('nope'), lambda: inlay.open(p, memory='x')):
    try: fn()
    except Exception as e: print(type(e), e, vars(e) if hasattr(e,'__dict__') else '')
