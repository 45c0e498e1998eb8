"""What fresh cells came down to: classes derived from containers and exceptions, and what is bound as itself."""

from ..cell import written

PRELUDE = """
import array, functools, jax, jax.numpy as jnp
from collections import *
x = jnp.ones(2)
"""

CELLS = written(
    PRELUDE,
    r"""
### kc-slots-of-a-dict
class S(dict): __slots__=('n',)
s=S(); s.n=1
---
y = x*s.n
---
s.n=5

### kc-attribute-of-a-text
class S(str): __slots__=()
class S(str): pass
s=S('ab'); s.r=1.0
---
y = x*len(s)*s.r
---
s.r=3.0

### kc-slots-of-a-float
class S(float): __slots__=('w',)
s=S(2.0); s.w=1.0
---
y = x*s*s.w
---
s.w=4.0

### kc-slots-of-a-list
class S(list): __slots__=('n',)
s=S([1]); s.n=1
---
y = x*s.n*s[0]
---
s.n=5

### kc-slots-of-a-dict-that-counts
class S(dict): __slots__=('n',)
s=S(a=x); s.n=0
---
s['b']=s['a']*2
s.n=s.n+1
t=s.n

### kc-an-array-in-slots-of-a-dict
class S(dict): __slots__=('w',)
s=S(); s.w=x
---
s.w=s.w*2
y=s.w+1

### kc-an-array-in-slots-of-a-deque
class S(deque): __slots__=('w',)
s=S(); s.w=x
---
y=s.w+1
s.w=y

### kc-an-array-in-slots-of-a-set
class S(str): __slots__=()
class S(set): __slots__=('w',)
s=S(); s.w=x
---
y=s.w+1
s.w=y

### kc-a-new-list-with-slots
class S(list):
    __slots__=('unit',)
    def __init__(self,it=(),unit='m'):
        super().__init__(it); self.unit=unit
---
h=S([x*2],'km')
u=h.unit

### kc-maxlen-widened
d=deque([x],maxlen=2)
---
d.append(d[-1]*2)
---
d=deque(d,maxlen=3)

### kc-a-new-deque-with-maxlen
class H(deque): pass
---
h=H([x*2],maxlen=3)
m=h.maxlen

### kc-a-new-defaultdict
class K(defaultdict): pass
---
l=K(lambda:1,{7:x*2})
m=l[3]


### kc-attributes-of-an-ordered-dict

---
l=OrderedDict(a=x*2)
l.tag=5
m=l.tag

### kc-a-deque-that-refuses-to-clear
class J(deque):
    def clear(self): raise RuntimeError('append-only')
j=J(); j.append(x)
---
j.append(x*2)

### kc-an-ordered-dict-that-evicts
class LRU(OrderedDict):
    cap=1
    def __setitem__(self,k,v):
        super().__setitem__(k,v)
        while len(self)>self.cap: self.popitem(last=False)
lru=LRU(); OrderedDict.__setitem__(lru,1,x); OrderedDict.__setitem__(lru,2,x)
---
OrderedDict.__setitem__(lru,7,lru[2]*2)
n=list(lru)

### kc-an-exception-with-its-own-constructor
class E(ValueError):
    def __init__(self,v): super().__init__('m',v); self.v=v
---
e=E(x*2)
z=e.v+1
w=e.args[1]

### kc-an-exception-that-was-caught
class E(ValueError):
    def __init__(self,v): super().__init__(f'shape {v.shape}'); self.v=v
def f(v): raise E(v)
res=[]
---
try: res.append(f(x*2))
except E as e: res.append(e.v)
z=res[-1]

### kc-the-cause-of-an-exception

---
e=ValueError(x*2); e.__cause__=KeyError(x*3)
z=e.__cause__.args[0]
b=e.__suppress_context__

### kc-fields-of-an-attribute-error

---
e=AttributeError('m',name='n',obj=x*2)
z=e.obj
n=e.name

### kc-fields-of-an-os-error

---
e=OSError(3,'no','file'); e.v=x*2
z=e.v
n=(e.errno,e.filename,str(e))

### kc-a-group-of-exceptions

---
e=ExceptionGroup('g',[ValueError(x*2),KeyError(1)])
z=e.exceptions[0].args[0]
n=e.message

### kc-the-value-of-a-stop

---
def g():
    return x*2
e=StopIteration(g())
z=e.value

### kc-an-array-of-numbers-with-a-label
class S(array.array):
    def __new__(cls,it=(),label='raw'):
        o=super().__new__(cls,'d',it); o.label=label; return o
    def mean(self): return jnp.asarray(self).mean()
raw=S([1.0,2.0])
---
raw.append(3.0)
m=raw.mean()
part=S(raw[:2])
c=jnp.asarray(part)-m
r2=S(raw[:2])
r2.label='t'
t=r2.label

### kc-builtins-of-a-dict
safe={'__builtins__':{}}
---
env=dict(safe,x=x)
env['y']=x*2
b=env['__builtins__'] is safe['__builtins__']

### kc-builtins-of-a-dict-alone
safe={'__builtins__':{}}
---
env=dict(safe,x=x)
env['y']=x*2
""",
)
