from .cluster import (
    Cluster as Cluster,
    ProcessLost as ProcessLost,
)
from .found import listed_clusters as listed_clusters, running_clusters as running_clusters
from .handles import (
    Handle as Handle,
)
from .running import (
    OnCluster as OnCluster,
)
